"""People who may log in: `/v1/people`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from orchestrator.errors import ParameterError
from plate_cameras.control_room.access.passwords import MAX_PASSWORD_CHARACTERS, check_password
from plate_cameras.control_room.access.policy import Forbidden
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import (
    answer,
    body_of,
    page_of,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import NamesQuery, Query
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.people.people import MAX_GROUP_LENGTH, MAX_GROUPS, Person

PERSON = "/v1/people/{name}"

RoleName = Literal["viewer", "editor", "administrator"]


class PersonChange(BaseModel):
    """The new state of a person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: RoleName = Field(description="The role")
    groups: tuple[Annotated[str, Field(max_length=MAX_GROUP_LENGTH)], ...] = Field(
        (),
        max_length=MAX_GROUPS,
        description="Groups of cameras that the person sees; empty for all",
    )
    password: str | None = Field(
        None,
        max_length=MAX_PASSWORD_CHARACTERS,
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
    """People whom an administrator may change."""

    people: list[ShownPerson] = Field(description="People by name")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


@Operation("people", "People who may log in", "people", answer=ShownPeople, query=NamesQuery)
@route("GET", "/v1/people", Role.ADMINISTRATOR)
async def show_all(request: RoomRequest) -> Response:
    """List people. An administrator of some groups sees the people of these groups alone."""
    query, people = query_of(request, NamesQuery), request.room.store.people
    all_people = await request.room.threads.run(lambda: people.all(request.scope))
    page, cursor = page_of(all_people, query)
    answers = [*map(ShownPerson.model_validate, page)]
    return answer(ShownPeople(people=answers, cursor=cursor))


@Operation(
    "putPerson",
    "Add or change a person",
    "people",
    answer=ShownPerson,
    body=PersonChange,
    creates=True,
    problems=("409",),
)
@route("PUT", PERSON, Role.ADMINISTRATOR)
async def put(request: RoomRequest) -> Response:
    """Add a person, or change one."""
    change = await body_of(request, PersonChange, hides_values=True)
    name = path_value(request, "name")
    person = Person(name, change.role, change.groups, change.is_disabled)
    if not request.scope.includes(person.groups):
        groups = ", ".join(request.principal.groups)
        raise Forbidden(f"groups: wanted some of yours, {groups}, got {', '.join(person.groups)}")
    if change.password is not None:
        check_password(change.password, name)
    people = await request.room.threads.run(lambda: request.room.store.people.all(request.scope))
    if name in {other.name for other in people}:
        await _change(request, person, change.password)
        return answer(ShownPerson.model_validate(person))
    await _add(request, person, change.password)
    return answer(ShownPerson.model_validate(person), status=201)


@Operation(
    "removePerson", "Remove a person; the sessions end", "people", status=204, problems=("409",)
)
@route("DELETE", PERSON, Role.ADMINISTRATOR)
async def remove(request: RoomRequest) -> Response:
    """Remove a person with all sessions."""
    name = path_value(request, "name")
    requester, people = _requester_of(request), request.room.store.people
    await request.room.threads.run(lambda: people.remove(name, requester, keeps_administrator=True))
    return Response(status_code=204)


async def _add(request: RoomRequest, person: Person, password: str | None) -> None:
    if password is None:
        raise ParameterError("password: wanted one for a new person, got none")
    password_hash = await request.room.access.passwords.hash(password)
    requester, people = _requester_of(request), request.room.store.people
    await request.room.threads.run(lambda: people.add(person, password_hash, requester))


def _requester_of(request: RoomRequest) -> Requester:
    return requester_of(request, query_of(request, Query), needs_reason=True)


async def _change(request: RoomRequest, person: Person, password: str | None) -> None:
    password_hash = None
    if password is not None:
        password_hash = await request.room.access.passwords.hash(password)
    requester, people = _requester_of(request), request.room.store.people
    await request.room.threads.run(
        lambda: people.change(
            person, requester, password_hash=password_hash, keeps_administrator=True
        )
    )


ROUTES = (show_all, put, remove)
