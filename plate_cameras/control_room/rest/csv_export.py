"""Passes as a CSV file, which is sent while it is read from the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial

import anyio
from starlette.responses import Response

from orchestrator.host.csv_cells import CsvForm
from orchestrator.serving.gateway.extension import ServiceFull
from plate_cameras.control_room.endpoint import ControlRoom, RoomRequest
from plate_cameras.control_room.rest.documents import to_pass
from plate_cameras.control_room.rest.exchange import CSV, attachment
from plate_cameras.control_room.rest.schemas import PassFields
from plate_cameras.control_room.rest.streams import OpenStreams, StreamedResponse, client_of
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.errors import StoreError
from plate_cameras.store.finding.pass_query import MAX_PAGE, PassPage, PassQuery, Requester

EXPORTS = OpenStreams(most=4, most_of_one=2)
"""Exports read the database as fast as they can, so few may run at once."""
PLAIN = (
    "id",
    "camera",
    "first_seen",
    "last_seen",
    "text",
    "text_native",
    "text_score",
    "format",
    "region_code",
    "region",
    "direction",
    "speed_widths_s",
    "frames",
    "progress",
    "clock",
)
COLUMNS = (*PLAIN, "zones", "lists", "stored")
FILE = "passes.csv"


@dataclass(frozen=True)
class Part:
    """One page of passes as a part of the file.

    Attributes:
        cursor: Place of the next page; empty at the end.
    """

    content: bytes
    count: int
    cursor: str


async def csv_response(
    request: RoomRequest, query: PassQuery, requester: Requester, form: CsvForm
) -> Response:
    """Return all passes that a query finds as a file. The first page is read before it begins.

    Raises:
        QuotaExceeded: The caller has too many exports already.
        ServiceFull: There are too many exports.
    """
    room, reader, query = request.room, request.room.store.reader, replace(query, limit=MAX_PAGE)
    with ExitStack() as place:
        place.enter_context(EXPORTS.open(client_of(request)))
        first = await room.threads.run(lambda: _read_part(room, query, requester, form), SEARCH)
        entry = await room.threads.run(lambda: reader.record(requester, "export", query.to_dict()))

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield (form.mark + form.to_lines([COLUMNS])).encode()
            count, part = 0, first
            try:
                while True:
                    count += part.count
                    yield part.content
                    if not part.cursor:
                        return
                    following = replace(query, cursor=part.cursor)
                    part = await room.threads.run(
                        partial(_read_part, room, following, requester, form), SEARCH
                    )
            finally:
                await _record_count(room, entry, count)

        headers = attachment(FILE)
        return StreamedResponse(
            chunks, place.pop_all(), request.is_current, media_type=CSV, headers=headers
        )


async def _record_count(room: ControlRoom, entry: int, count: int) -> None:
    """Complete the entry of the audit, also when the caller has hung up amid the file."""
    with anyio.CancelScope(shield=True), suppress(StoreError, ServiceFull):  # the entry is there
        await room.threads.run(lambda: room.store.reader.count(entry, count))


def _read_part(room: ControlRoom, query: PassQuery, requester: Requester, form: CsvForm) -> Part:
    """Read a page. Making its lines takes long, too, so all of it runs in a thread."""
    page = room.store.reader.page(query, requester)
    return Part(form.to_lines(_rows(page, form)).encode(), len(page.passes), page.cursor)


def _rows(page: PassPage, form: CsvForm) -> list[tuple[object, ...]]:
    return [_to_row(to_pass(one, page.hits.get(one.number, ())), form) for one in page.passes]


def _to_row(shown: PassFields, form: CsvForm) -> tuple[object, ...]:
    plain = (getattr(shown, name) for name in PLAIN)
    lists = " ".join(dict.fromkeys(one.list for one in shown.lists))
    return tuple(map(form.to_cell, (*plain, " ".join(shown.zones), lists, shown.stored)))
