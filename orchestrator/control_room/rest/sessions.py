"""Sessions: `/v1/session`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from orchestrator.control_room.access.cookies import csrf_of, delete_cookies, set_cookie, uses_tls
from orchestrator.control_room.access.own_pages import check_own_page
from orchestrator.control_room.access.passwords import LONGEST
from orchestrator.control_room.access.principals import Role
from orchestrator.control_room.endpoint import RoomRequest, RoomRoute
from orchestrator.control_room.rest.exchange import body_of
from orchestrator.gateway.policy.clients import KEY_PREFIX, PERSON_PREFIX, client_at

MOST_BYTES = 16 * 1024
"""Largest body of a login, which anybody may send."""
NEVER_STORED = {"cache-control": "no-store"}


class Credentials(BaseModel):
    """The name and password of a login."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    name: str = Field(max_length=200)
    password: str = Field(max_length=LONGEST, repr=False)


class Session(BaseModel):
    """The principal, and the token that changes need."""

    name: str
    role: Literal["viewer", "editor", "administrator"]
    groups: list[str]
    csrf: str = Field(description="Header X-CSRF-Token of changes; empty if they need none")
    via: Literal["session", "key", "local"]


async def log_in(request: RoomRequest) -> Response:
    """Begin a session, and give the browser its cookie."""
    http, room = request.request.http, request.room
    check_own_page(http.headers)
    given = await body_of(request, Credentials, most=MOST_BYTES, hides_values=True)
    address = client_at(http.client.host if http.client else "", request.request.service.limits)
    login = await room.access.logins.log_in(given.name, given.password, address.name)
    await _end(request)  # the one that this browser had before
    person = login.person
    response = _to_response(
        Session.model_construct(
            name=person.name,
            role=person.role,
            groups=[*person.groups],
            csrf=csrf_of(login.token),
            via="session",
        )
    )
    is_secure = uses_tls(http.url.scheme, http.headers)
    set_cookie(response, login.token, room.access.logins.session_s, is_secure=is_secure)
    return response


async def show(request: RoomRequest) -> Response:
    """Tell who asks."""
    principal, client = request.principal, request.request.admitted.slot.client
    token = request.room.access.token_of(request.request.http.headers)
    is_person = client.name.startswith(PERSON_PREFIX)
    is_key = client.name.startswith(KEY_PREFIX)
    return _to_response(
        Session.model_construct(
            name=principal.name,
            role=principal.role.name.lower(),
            groups=[*principal.groups],
            csrf=csrf_of(token) if is_person and token else "",
            via="session" if is_person else "key" if is_key else "local",
        )
    )


async def log_out(request: RoomRequest) -> Response:
    """End the session and its cookie. A key stays."""
    await _end(request)
    response = Response(status_code=204, headers=NEVER_STORED)
    delete_cookies(response)
    return response


async def _end(request: RoomRequest) -> None:
    token = request.room.access.token_of(request.request.http.headers)
    if token is not None:
        await request.room.threads.run(lambda: request.room.store.sessions.end(token))


def _to_response(session: Session) -> Response:
    return Response(session.model_dump_json(), media_type="application/json", headers=NEVER_STORED)


ROUTES = (
    RoomRoute("POST", "/v1/session", Role.NOBODY, log_in),
    RoomRoute("GET", "/v1/session", Role.VIEWER, show),
    RoomRoute("DELETE", "/v1/session", Role.VIEWER, log_out),
)
