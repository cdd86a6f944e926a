"""Gates, their openings, and people's commands to open them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import Field
from starlette.responses import Response

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.extension import Model
from plate_cameras.configuration import Camera, Gate
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.documents import to_opening
from plate_cameras.control_room.rest.exchange import (
    NO_REASON,
    answer,
    body_of,
    named_in_path,
    page_of,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import Body, Name, NamesQuery, PageQuery, Query
from plate_cameras.control_room.rest.schemas import Opening, OpeningsPage
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.scope import Scope
from plate_cameras.store.writing.live_tables import draw_on
from plate_cameras.unmet_conditions import find_missing_lists, find_unmet

ACCEPTED = 202


class UnmetFields(Model):
    """A condition of a gate that cannot be met, such as a zone whose name is misspelt."""

    code: str = Field(
        description="What is missing: `zone`, `line`, `list`, `zones`, `lines` or `direction`",
        examples=["zone"],
    )
    name: str = Field(
        description="Its name; for the last three that of the camera", examples=["entry"]
    )
    sentence: str = Field(
        description="The same as a sentence", examples=["none of its cameras has the zone entry"]
    )


class GateAnswer(Model):
    """A gate."""

    name: str = Field(description="Its name", examples=["barrier"])
    type: str = Field(description="How it is opened", examples=["http"])
    cameras: tuple[str, ...] = Field(description="Cameras that open it")
    lists: tuple[str, ...] = Field(description="Lists that open it")
    blocked_lists: tuple[str, ...] = Field(description="Lists whose plates never open it")
    unmet: tuple[UnmetFields, ...] | None = Field(
        description="Conditions that cannot be met now; null while the database is away"
    )


class GatesAnswer(Model):
    """The gates, in the order of their file."""

    gates: tuple[GateAnswer, ...] = Field(description="The gates")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class CommandBody(Body):
    """A command to open a gate."""

    pass_id: Name = Field("", description='Id of the pass that it opens for, or ""')
    id: str = Field(
        "",
        max_length=36,
        pattern="^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$",
        description="An id of your own: the same command that comes again is one command",
    )


@Operation("gates", "All gates", "gates", answer=GatesAnswer, query=NamesQuery)
@route("GET", "/v1/gates", Role.VIEWER, is_background=True)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the gates whose cameras the principal may see."""
    query, scope = query_of(request, NamesQuery), request.scope
    page, cursor = page_of(gates_of(request), query)
    unmet = await _find_unmet(request, page)
    answers = tuple(
        GateAnswer(
            name=gate.name,
            type=gate.type,
            cameras=tuple(filter(scope.sees, gate.cameras)),
            lists=tuple(filter(scope.uses, gate.lists)),
            blocked_lists=tuple(filter(scope.uses, gate.blocked_lists)),
            unmet=None if unmet is None else unmet[gate.name],
        )
        for gate in page
    )
    return answer(GatesAnswer(gates=answers, cursor=cursor))


@Operation(
    "openings", "Openings of gates, the newest first", "gates", answer=OpeningsPage, query=PageQuery
)
@route("GET", "/v1/gates/openings", Role.VIEWER, is_background=True)
async def list_openings(request: RoomRequest) -> Response:
    """Return a page of openings."""
    query = query_of(request, PageQuery)
    scope, openings = requester_of(request, query).scope, request.room.store.openings
    page = await request.room.threads.run(lambda: openings.page(scope, query.limit, query.cursor))
    return answer(OpeningsPage(openings=tuple(map(to_opening, page.openings)), cursor=page.cursor))


@Operation(
    "openGate",
    "Open a gate now; ask `/v1/gates/openings/{id}` for the outcome. The reason is required",
    "gates",
    answer=Opening,
    body=CommandBody,
    status=ACCEPTED,
    problems=("409",),
)
@route("POST", "/v1/gates/{name}/openings", Role.EDITOR)
async def open_gate(request: RoomRequest) -> Response:
    """Command a watcher to open a gate."""
    requester = requester_of(request, query_of(request, Query))
    gate = named_in_path(request, gates_of(request), "gate")
    if requester.why == NO_REASON:
        raise ParameterError("reason: wanted one in `X-Reason` or `reason`, got none")
    body, commands = await body_of(request, CommandBody), request.room.store.commands
    cameras = [*filter(requester.scope.sees, gate.cameras)]
    command = await request.room.threads.run(
        lambda: commands.send(gate.name, cameras, body.pass_id, requester, body.id)
    )
    return answer(to_opening(command), status=ACCEPTED)


@Operation("opening", "One opening of a gate", "gates", answer=Opening)
@route("GET", "/v1/gates/openings/{id}", Role.VIEWER, is_background=True)
async def get_opening(request: RoomRequest) -> Response:
    """Return an opening as it is now."""
    scope = requester_of(request, query_of(request, Query)).scope
    id_, commands = path_value(request, "id"), request.room.store.commands
    opening = await request.room.threads.run(
        lambda: commands.find(id_, scope, to_sentence("nobody"))
    )
    return answer(to_opening(opening))


def gates_of(request: RoomRequest) -> list[Gate]:
    """Return the configured gates that belong to the principal's cameras."""
    gates = request.room.configuration.gates
    return [gate for gate in gates if any(map(request.scope.sees, gate.cameras))]


async def _find_unmet(
    request: RoomRequest, gates: Sequence[Gate]
) -> Mapping[str, tuple[UnmetFields, ...]] | None:
    """Return the conditions of gates that cannot be met now; None if the database is away."""
    room = request.room
    try:
        drawn_areas, names = await room.threads.run(
            lambda: (room.store.live.areas(), room.store.lists.names())
        )
    except StoreUnavailable:
        return None
    cameras = draw_on(room.configuration.cameras, drawn_areas)
    return {gate.name: (*_to_fields(gate, cameras, names, request.scope),) for gate in gates}


def _to_fields(
    gate: Gate, cameras: Sequence[Camera], lists: Collection[str], scope: Scope
) -> Iterator[UnmetFields]:
    """Yield the conditions of a gate that cannot be met, as far as a scope has their names."""
    hidden_names = {name for name in gate.cameras if not scope.sees(name)}
    hidden_names |= {name for name in (*gate.lists, *gate.blocked_lists) if not scope.uses(name)}
    for condition in (*find_unmet(gate, cameras), *find_missing_lists(gate, lists)):
        if condition.name not in hidden_names:
            code, name, sentence = condition.code, condition.name, condition.sentence
            yield UnmetFields(code=code, name=name, sentence=sentence)


ROUTES = (list_all, list_openings, get_opening, open_gate)
