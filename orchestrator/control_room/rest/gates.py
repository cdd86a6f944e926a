"""Gates and their openings."""

from __future__ import annotations

from starlette.responses import Response

from orchestrator.control_room.endpoint import RoomRequest
from orchestrator.control_room.rest.documents import to_opening
from orchestrator.control_room.rest.exchange import answer, query_of, requester_of
from orchestrator.control_room.rest.queries import PageQuery, Query
from orchestrator.control_room.rest.schemas import GateAnswer, GatesAnswer, OpeningsPage


async def list_all(request: RoomRequest) -> Response:
    """Return the gates whose cameras the principal may see."""
    query_of(request, Query)
    shown = {one.name for one in request.cameras}
    gates = request.room.configuration.gates
    return answer(
        GatesAnswer(
            gates=tuple(
                GateAnswer(
                    name=one.name,
                    type=one.type,
                    cameras=tuple(name for name in one.cameras if name in shown),
                    lists=tuple(one.lists),
                )
                for one in gates
                if not one.cameras or shown & {*one.cameras}
            )
        )
    )


async def list_openings(request: RoomRequest) -> Response:
    """Return a page of openings."""
    asked = query_of(request, PageQuery)
    shown, openings = requester_of(request, asked).cameras, request.room.store.openings
    page = await request.room.threads.run(
        lambda: openings.page(asked.limit, asked.cursor, cameras=shown)
    )
    return answer(OpeningsPage(openings=tuple(map(to_opening, page.openings)), cursor=page.cursor))
