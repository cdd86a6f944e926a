"""Routes of administrators: the audit, and the export and deletion of one plate's data."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import anyio.to_thread
from starlette.responses import Response

from plate_cameras.control_room.access.policy import Forbidden
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import answer, path_value, query_of, requester_of
from plate_cameras.control_room.rest.queries import AuditPageQuery, DeletionQuery, Query
from plate_cameras.control_room.rest.schemas import AuditEntry, AuditPage, Deletion
from plate_cameras.control_room.rest.streams import EXPORTS, client_of, stream_file
from plate_cameras.control_room.store_threads import BULK, SEARCH
from plate_cameras.passes import to_rfc3339
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.people.audit import AuditQuery, RecordedSearch

CHUNK_BYTES = 256 * 1024
ZIP = "application/zip"


@Operation(
    "exportPlate",
    "Everything about one plate, for its owner",
    "operation",
    media={ZIP: "Passes as JSON lines, and their pictures"},
)
@route("GET", "/v1/plates/{text}/export", Role.ADMINISTRATOR)
async def export(request: RoomRequest) -> Response:
    """Return all passes of a plate that the principal may see, with their pictures, as a ZIP."""
    requester = requester_of(request, query_of(request, Query), needs_reason=True)
    text = path_value(request, "text")
    with ExitStack() as place:
        place.enter_context(EXPORTS.open(client_of(request)))
        file = await request.room.threads.run(lambda: _write(request, text, requester), BULK)
        place.enter_context(file)

        async def chunks() -> AsyncGenerator[bytes, None]:
            while chunk := await anyio.to_thread.run_sync(file.read, CHUNK_BYTES):
                yield chunk

        return stream_file(request, chunks, place.pop_all(), name="plate.zip", media_type=ZIP)


def _write(request: RoomRequest, text: str, requester: Requester) -> BinaryIO:
    """Write the export to a file without a name: it vanishes when it is closed."""
    with tempfile.TemporaryDirectory(prefix="plates-export-") as folder:
        target = Path(folder) / "plate.zip"
        request.room.store.export_plate(text, target, requester)
        return target.open("rb")


@Operation(
    "deletePlate",
    "Delete everything about one plate",
    "operation",
    answer=Deletion,
    query=DeletionQuery,
)
@route("DELETE", "/v1/plates/{text}", Role.ADMINISTRATOR)
async def delete(request: RoomRequest) -> Response:
    """Delete everything about a plate.

    Raises:
        Forbidden: The principal may see some cameras only, so a part would stay.
    """
    query = query_of(request, DeletionQuery)
    requester = requester_of(request, query, needs_reason=True)
    if request.principal.groups:
        raise Forbidden("groups: wanted an administrator of all cameras, got one of some")
    text, store = path_value(request, "text"), request.room.store
    counts = await request.room.threads.run(
        lambda: store.delete_plate(text, requester, entries=query.entries), BULK
    )
    return answer(Deletion(**{name: getattr(counts, name) for name in Deletion.model_fields}))


@Operation(
    "audit",
    "Who has searched for what, and why",
    "operation",
    answer=AuditPage,
    query=AuditPageQuery,
)
@route("GET", "/v1/audit", Role.ADMINISTRATOR)
async def list_searches(request: RoomRequest) -> Response:
    """Return a page of the audit. With groups, it is that of people and keys of these groups."""
    query = query_of(request, AuditPageQuery)
    before = int(query.cursor) if query.cursor else None
    audit_query = AuditQuery(query.from_s, query.until_s, before, query.limit + 1)
    reader, scope = request.room.store.reader, request.scope
    searches = await request.room.threads.run(lambda: reader.searches(audit_query, scope), SEARCH)
    page = searches[: query.limit]
    cursor = str(page[-1].number) if len(searches) > query.limit else ""
    return answer(AuditPage(searches=tuple(map(_to_entry, page)), cursor=cursor))


def _to_entry(recorded_search: RecordedSearch) -> AuditEntry:
    fields = {name: getattr(recorded_search, name) for name in ("who", "why", "kind", "count")}
    query = dict(recorded_search.query)
    return AuditEntry(time=to_rfc3339(recorded_search.time_s), query=query, **fields)


ROUTES = (export, delete)
