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
    gates = getattr(request.room.configuration, "gates", ())
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
    requester, reader = requester_of(request, asked), request.room.store.reader
    before = int(asked.cursor) if asked.cursor else None
    found = await request.room.threads.run(
        lambda: reader.openings(requester, asked.limit + 1, before)
    )
    page = found[: asked.limit]
    cursor = str(page[-1].number) if len(found) > asked.limit else ""
    return answer(OpeningsPage(openings=tuple(map(to_opening, page)), cursor=cursor))
