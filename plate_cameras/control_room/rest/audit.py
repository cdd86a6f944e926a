"""The audit: who has searched for what, and why."""

from __future__ import annotations

from starlette.responses import Response

from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.rest.exchange import answer, query_of
from plate_cameras.control_room.rest.queries import AuditPageQuery
from plate_cameras.control_room.rest.schemas import AuditEntry, AuditPage
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.events import to_rfc3339
from plate_cameras.store.people.audit import AuditQuery, RecordedSearch


async def list_searches(request: RoomRequest) -> Response:
    """Return a page of the audit. With groups, it is that of people and keys of these groups."""
    asked = query_of(request, AuditPageQuery)
    before = int(asked.cursor) if asked.cursor else None
    query = AuditQuery(asked.from_s, asked.until_s, before, asked.limit + 1)
    reader, scope = request.room.store.reader, request.scope
    found = await request.room.threads.run(lambda: reader.searches(query, scope), SEARCH)
    page = found[: asked.limit]
    cursor = str(page[-1].number) if len(found) > asked.limit else ""
    return answer(AuditPage(searches=tuple(map(_to_entry, page)), cursor=cursor))


def _to_entry(one: RecordedSearch) -> AuditEntry:
    return AuditEntry(
        time=to_rfc3339(one.time_s),
        who=one.who,
        why=one.why,
        kind=one.kind,
        query=dict(one.query),
        count=one.count,
    )
