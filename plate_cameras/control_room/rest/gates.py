"""Gates and their openings."""

from __future__ import annotations

from starlette.responses import Response

from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Described, route
from plate_cameras.control_room.rest.documents import to_opening
from plate_cameras.control_room.rest.exchange import answer, page_of, query_of, requester_of
from plate_cameras.control_room.rest.queries import NamesQuery, PageQuery
from plate_cameras.control_room.rest.schemas import GateAnswer, GatesAnswer, OpeningsPage


@Described("gates", "All gates", "gates", answer=GatesAnswer, query=NamesQuery)
@route("GET", "/v1/gates", Role.VIEWER, is_background=True)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the gates whose cameras the principal may see."""
    asked, scope = query_of(request, NamesQuery), request.scope
    gates = [
        gate for gate in request.room.configuration.gates if any(map(scope.sees, gate.cameras))
    ]
    page, cursor = page_of(gates, asked)
    answers = tuple(
        GateAnswer(
            name=one.name,
            type=one.type,
            cameras=tuple(name for name in one.cameras if scope.sees(name)),
            lists=tuple(filter(scope.uses, one.lists)),
        )
        for one in page
    )
    return answer(GatesAnswer(gates=answers, cursor=cursor))


@Described(
    "openings", "Openings of gates, the newest first", "gates", answer=OpeningsPage, query=PageQuery
)
@route("GET", "/v1/gates/openings", Role.VIEWER, is_background=True)
async def list_openings(request: RoomRequest) -> Response:
    """Return a page of openings."""
    asked = query_of(request, PageQuery)
    scope, openings = requester_of(request, asked).scope, request.room.store.openings
    page = await request.room.threads.run(lambda: openings.page(scope, asked.limit, asked.cursor))
    return answer(OpeningsPage(openings=tuple(map(to_opening, page.openings)), cursor=page.cursor))


ROUTES = (list_all, list_openings)
