"""People who may log in: `/v1/people`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from orchestrator.cameras.store.pass_query import Requester
from orchestrator.cameras.store.people import LastAdministrator, NameTaken, Person
from orchestrator.control_room.access.passwords import LONGEST, check_password
from orchestrator.control_room.access.policy import Forbidden
from orchestrator.control_room.access.principals import Role
from orchestrator.control_room.described import Described
from orchestrator.control_room.endpoint import RoomRequest, RoomRoute
from orchestrator.control_room.rest.exchange import body_of, query_of, requester_of
from orchestrator.control_room.rest.queries import Query
from orchestrator.errors import ParameterError
from orchestrator.gateway.errors import GatewayError, NotFound

RoleName = Literal["viewer", "editor", "administrator"]


class Conflict(GatewayError):  # noqa: N818 - named after the status
    """The people are in another state than the change needs."""

    status, code, reason = 409, "FAILED_PRECONDITION", "conflict"


class PersonChange(BaseModel):
    """The new state of a person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: RoleName = Field(description="The role")
    groups: tuple[str, ...] = Field(
        (), description="Groups of cameras that the person sees; empty for all"
    )
    password: str | None = Field(
        None,
        max_length=LONGEST,
        repr=False,
        description="A new password, at least 12 characters. It ends the person's sessions. "
        "A new person needs one",
    )
    is_disabled: bool = Field(False, description="Whether the person may not log in")


class ShownPerson(BaseModel):
    """A person, without the password."""

    model_config = ConfigDict(from_attributes=True)

    name: str = Field(description="Name of the person", examples=["anna"])
    role: RoleName = Field(description="The role")
    groups: tuple[str, ...] = Field(
        description="Groups of cameras that the person sees; empty for all"
    )
    is_disabled: bool = Field(description="Whether the person may not log in")


class ShownPeople(BaseModel):
    """All people whom an administrator may change."""

    people: list[ShownPerson] = Field(description="People by name")


async def show_all(request: RoomRequest) -> Response:
    """List people. An administrator of some groups sees the people of these groups alone."""
    query_of(request, Query)
    found = await request.room.threads.run(request.room.store.people.all)
    shown = [one for one in found if request.principal.includes(one.groups)]
    return _to_response(ShownPeople(people=[ShownPerson.model_validate(one) for one in shown]))


async def put(request: RoomRequest) -> Response:
    """Add a person, or change one."""
    sent = await body_of(request, PersonChange, hides_values=True)
    name = request.request.http.path_params["name"]
    person = Person(name, sent.role, sent.groups, sent.is_disabled)
    if not request.principal.includes(person.groups):
        groups = ", ".join(request.principal.groups)
        raise Forbidden(f"groups: wanted some of yours, {groups}, got {', '.join(person.groups)}")
    if sent.password is not None:
        check_password(sent.password, name)
    if await _find(request, name) is None:
        await _add(request, person, sent.password)
        return _to_response(ShownPerson.model_validate(person), 201)
    await _change(request, person, sent.password)
    return _to_response(ShownPerson.model_validate(person))


async def remove(request: RoomRequest) -> Response:
    """Remove a person with all sessions."""
    name = request.request.http.path_params["name"]
    if await _find(request, name) is None:
        raise _unknown(name)
    requester, people = _requester_of(request), request.room.store.people
    try:
        await request.room.threads.run(
            lambda: people.remove(name, requester, keeps_administrator=True)
        )
    except LastAdministrator as error:
        raise Conflict(str(error)) from error
    return Response(status_code=204)


async def _find(request: RoomRequest, name: str) -> Person | None:
    """Return a person; None if there is none of this name.

    Raises:
        NotFound: The person has groups that the principal does not see.
    """
    people = request.room.store.people
    found = await request.room.threads.run(lambda: people.find(name))
    if found is None:
        return None
    if not request.principal.includes(found.person.groups):
        raise _unknown(name)
    return found.person


async def _add(request: RoomRequest, person: Person, password: str | None) -> None:
    if password is None:
        raise ParameterError("password: wanted one for a new person, got none")
    hashed = await request.room.access.passwords.hash(password)
    requester, people = _requester_of(request), request.room.store.people
    try:
        await request.room.threads.run(lambda: people.add(person, hashed, requester))
    except NameTaken as error:  # meanwhile
        raise Conflict(str(error)) from error


def _requester_of(request: RoomRequest) -> Requester:
    return requester_of(request, query_of(request, Query), must_tell=True)


async def _change(request: RoomRequest, person: Person, password: str | None) -> None:
    hashed = await request.room.access.passwords.hash(password) if password is not None else None
    requester, people = _requester_of(request), request.room.store.people
    try:
        await request.room.threads.run(
            lambda: people.change(person, requester, password_hash=hashed, keeps_administrator=True)
        )
    except LastAdministrator as error:
        raise Conflict(str(error)) from error


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no person {name[:100]!r}")


def _to_response(shown: BaseModel, status: int = 200) -> Response:
    return Response(
        shown.model_dump_json(),
        status,
        media_type="application/json",
        headers={"cache-control": "no-store"},
    )


ROUTES = (
    RoomRoute(
        *("GET", "/v1/people", Role.ADMINISTRATOR, show_all),
        Described("people", "People who may log in", "people", answer=ShownPeople),
    ),
    RoomRoute(
        *("PUT", "/v1/people/{name}", Role.ADMINISTRATOR, put),
        Described(
            *("putPerson", "Add or change a person", "people"),
            answer=ShownPerson,
            body=PersonChange,
            creates=True,
            problems=("409",),
        ),
    ),
    RoomRoute(
        *("DELETE", "/v1/people/{name}", Role.ADMINISTRATOR, remove),
        Described(
            *("removePerson", "Remove a person; the sessions end", "people"),
            status=204,
            problems=("409",),
        ),
    ),
)
