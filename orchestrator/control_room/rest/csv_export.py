"""Passes as a CSV file, which is sent while it is read from the database."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace

from starlette.responses import Response

from orchestrator.cameras.store.csv_cells import to_cell
from orchestrator.cameras.store.errors import StoreError
from orchestrator.cameras.store.pass_query import MOST, PassPage, PassQuery, Requester
from orchestrator.control_room.endpoint import ControlRoom, RoomRequest
from orchestrator.control_room.rest.documents import to_pass
from orchestrator.control_room.rest.exchange import CSV, attachment
from orchestrator.control_room.rest.schemas import PassFields
from orchestrator.control_room.rest.streams import OpenStreams, StreamedResponse, client_of

EXPORTS = OpenStreams(most=4, most_of_one=2)
"""Exports read the database as fast as they can, so few may run at once."""
PLAIN = (
    *("id", "camera", "first_seen", "last_seen", "text", "text_native", "text_score", "format"),
    *("region_code", "region", "direction", "speed_widths_s", "frames", "progress", "clock"),
)
COLUMNS = (*PLAIN, "zones", "lists", "stored")
FILE = "passes.csv"


async def csv_response(request: RoomRequest, query: PassQuery, requester: Requester) -> Response:
    """Return all passes that a query finds as a file. The first page is read before it begins.

    Raises:
        QuotaExceeded: The caller has too many exports already.
        ServiceFull: There are too many exports.
    """
    room, client = request.room, client_of(request)
    EXPORTS.check(client)
    query = replace(query, limit=MOST)
    first = await room.threads.run(lambda: room.store.reader.page(query, requester))
    entry = await room.threads.run(
        lambda: room.store.reader.record(requester, "export", query.to_dict())
    )

    async def chunks() -> AsyncGenerator[bytes, None]:
        count, page = 0, first
        yield _to_csv([COLUMNS])
        try:
            while True:
                count += len(page.passes)
                yield _to_csv(_rows(page))
                if not page.cursor:
                    return
                page = await _next_page(room, replace(query, cursor=page.cursor), requester)
        finally:
            with suppress(StoreError):  # the entry itself is there
                await room.threads.run(lambda: room.store.reader.count(entry, count))

    return StreamedResponse(chunks, EXPORTS, client, media_type=CSV, headers=attachment(FILE))


async def _next_page(room: ControlRoom, query: PassQuery, requester: Requester) -> PassPage:
    return await room.threads.run(lambda: room.store.reader.page(query, requester))


def _rows(page: PassPage) -> list[tuple[object, ...]]:
    return [_to_row(to_pass(one, page.hits.get(one.number, ()))) for one in page.passes]


def _to_row(shown: PassFields) -> tuple[object, ...]:
    plain = (getattr(shown, name) for name in PLAIN)
    lists = " ".join(dict.fromkeys(one.list for one in shown.lists))
    return tuple(map(to_cell, (*plain, " ".join(shown.zones), lists, shown.stored)))


def _to_csv(rows: Sequence[Sequence[object]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return file.getvalue().encode()
