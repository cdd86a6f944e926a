"""Sessions: `/v1/session`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from orchestrator.serving.gateway.extension import KEY_PREFIX, PERSON_PREFIX, client_at
from plate_cameras.control_room.access.browser_requests import (
    check_own_page,
    csrf_of,
    delete_cookies,
    set_cookie,
    uses_tls,
)
from plate_cameras.control_room.access.logins import Login
from plate_cameras.control_room.access.passwords import MAX_PASSWORD_CHARACTERS
from plate_cameras.control_room.access.policy import Forbidden
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import answer, body_of

PATH = "/v1/session"

MAX_BYTES = 16 * 1024
"""Largest body of a login, which anybody may send."""
NEVER_STORED = {"cache-control": "no-store"}


class Credentials(BaseModel):
    """The name and password of a login."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    name: str = Field(max_length=200, description="Name of the person", examples=["anna"])
    password: str = Field(
        max_length=MAX_PASSWORD_CHARACTERS, repr=False, description="The password"
    )


class NewPassword(BaseModel):
    """The present password, and the one that replaces it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    old_password: str = Field(
        max_length=MAX_PASSWORD_CHARACTERS, repr=False, description="The present one"
    )
    password: str = Field(
        max_length=MAX_PASSWORD_CHARACTERS, repr=False, description="At least 12 characters"
    )


class Session(BaseModel):
    """The principal, and the token that changes need."""

    name: str = Field(description="Name of the person or key, or `local`", examples=["anna"])
    role: Literal["viewer", "editor", "administrator"] = Field(description="Its role")
    groups: list[str] = Field(
        description="Groups of cameras that it sees; empty for all", examples=[["north"]]
    )
    csrf: str = Field(description="Header X-CSRF-Token of changes; empty if they need none")
    via: Literal["session", "key", "local"] = Field(
        description="A cookie, a key, or a gateway on this machine that wants no key"
    )


@Operation(
    "logIn",
    "Log in. The answer sets the cookie `plates_session`",
    "people",
    answer=Session,
    body=Credentials,
    takes_reason=False,
    is_public=True,
)
@route("POST", PATH, Role.NOBODY)
async def log_in(request: RoomRequest) -> Response:
    """Begin a session, and give the browser its cookie."""
    check_own_page(request.request.http.headers)
    body = await body_of(request, Credentials, max_bytes=MAX_BYTES, hides_values=True)
    logins = request.room.access.logins
    login = await logins.log_in(body.name, body.password, _address_of(request))
    await _end(request)  # the one that this browser had before
    return _answer_login(request, login)


@Operation(
    "changePassword",
    "Change the own password; other sessions end",
    "people",
    answer=Session,
    body=NewPassword,
    takes_reason=False,
)
@route("PUT", f"{PATH}/password", Role.VIEWER)
async def change_password(request: RoomRequest) -> Response:
    """Give the person who asks another password. All other sessions of the person end."""
    if not request.request.call.client.name.startswith(PERSON_PREFIX):
        raise Forbidden("wanted a person who has logged in, got a caller without a password")
    body = await body_of(request, NewPassword, max_bytes=MAX_BYTES, hides_values=True)
    login = await request.room.access.logins.change_password(
        request.principal.name, body.old_password, body.password, _address_of(request)
    )
    return _answer_login(request, login)


def _address_of(request: RoomRequest) -> str:
    """Return the name of the client at the caller's address; empty for a proxy of many callers."""
    address, service = request.request.call.address, request.request.service
    return "" if service.proxies.trusts(address) else client_at(address, service.limits).name


def _answer_login(request: RoomRequest, login: Login) -> Response:
    """Return the answer that gives the browser a session."""
    http, person = request.request.http, login.person
    response = answer(
        Session.model_construct(
            name=person.name,
            role=person.role,
            groups=[*person.groups],
            csrf=csrf_of(login.token),
            via="session",
        )
    )
    is_secure = uses_tls(http.url.scheme, http.headers)
    lifetime_s = request.room.access.logins.session_s
    set_cookie(response, login.token, lifetime_s, is_secure=is_secure)
    return response


@Operation("session", "Who asks, and with which role", "people", answer=Session, takes_reason=False)
@route("GET", PATH, Role.VIEWER, is_background=True)
async def show(request: RoomRequest) -> Response:
    """Tell who asks."""
    principal, client = request.principal, request.request.call.client
    token = request.room.access.token_of(request.request.http.headers)
    is_person = client.name.startswith(PERSON_PREFIX)
    is_key = client.name.startswith(KEY_PREFIX)
    return answer(
        Session.model_construct(
            name=principal.name,
            role=principal.role.name.lower(),
            groups=[*principal.groups],
            csrf=csrf_of(token) if is_person and token else "",
            via="session" if is_person else "key" if is_key else "local",
        )
    )


@Operation("logOut", "Log out", "people", status=204, takes_reason=False)
@route("DELETE", PATH, Role.VIEWER)
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


ROUTES = (log_in, show, log_out, change_password)
