"""Passes as a CSV file, which is sent while it is read from the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial

import anyio
from starlette.responses import Response

from orchestrator.host.csv_cells import CsvForm
from orchestrator.serving.gateway.extension import ServiceFull
from plate_cameras.control_room.endpoint import ControlRoom, RoomRequest
from plate_cameras.control_room.rest.documents import to_pass
from plate_cameras.control_room.rest.exchange import CSV
from plate_cameras.control_room.rest.schemas import PassFields
from plate_cameras.control_room.rest.streams import EXPORTS, client_of, stream_file
from plate_cameras.control_room.room_texts import read_room_texts
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.errors import StoreError
from plate_cameras.store.finding.pass_query import MAX_PAGE, PassQuery, Requester

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
SPEED = ("speed_kmh", "speed_error_kmh")
COLUMNS = (*PLAIN, "zones", "lists", "stored", *SPEED)
FILE = "passes.csv"


TITLES = {
    "ru": (
        "id",
        "камера",
        "появился",
        "исчез",
        "номер (латиница)",
        "номер",
        "уверенность",
        "тип номера",
        "код региона",
        "регион",
        "направление",
        "скорость, ширин номера в секунду",
        "кадров",
        "состояние",
        "часы",
        "зоны",
        "списки",
        "сохранён",
        "скорость, км/ч",
        "погрешность скорости, км/ч",
    )
}
"""Titles of the columns by language. Programs, and English readers, have the names of fields."""
TIMES = ("first_seen", "last_seen", "stored")
FILE_CLOCK = "file"


@dataclass(frozen=True)
class FileStyle:
    """The style of a file: for programs, or for people.

    Attributes:
        form: The dialect.
        language: Language of its titles and regions; empty for programs.
        zone: Zone of its times; None for RFC 3339.
    """

    form: CsvForm
    language: str = ""
    zone: tzinfo | None = None

    @property
    def titles(self) -> Sequence[str]:
        """The titles of the columns."""
        return TITLES.get(self.language, COLUMNS)

    def to_row(self, fields: PassFields) -> tuple[object, ...]:
        """Return a pass as a row."""
        values = {name: getattr(fields, name) for name in (*PLAIN, "stored", *SPEED)}
        if self.zone:
            local_times = {name: self._to_local(values[name], fields.clock) for name in TIMES[:-1]}
            values |= local_times | {"stored": self._to_local(fields.stored)}
        if self.language:
            texts = read_room_texts()[self.language]
            values["region"] = texts.shared_texts.regions.get(fields.region, fields.region)
            values["format"] = texts.shared_texts.formats.get(fields.format, fields.format)
            values["direction"] = texts.script.get(fields.direction, "")
        values["zones"] = " ".join(fields.zones)
        values["lists"] = " ".join(dict.fromkeys(hit.list for hit in fields.lists))
        return tuple(self.form.to_cell(values[name]) for name in COLUMNS)

    def _to_local(self, time: str, clock: str = "") -> str:
        """Return an RFC 3339 time as spreadsheets read it; of a clip, the place in it."""
        at = datetime.fromisoformat(time.replace("Z", "+00:00"))
        if clock == FILE_CLOCK:
            return str(timedelta(seconds=int(at.timestamp())))
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M:%S}"


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
    request: RoomRequest, query: PassQuery, requester: Requester, style: FileStyle
) -> Response:
    """Return all passes that a query finds as a file. The first page is read before it begins.

    Raises:
        QuotaExceeded: The caller has too many exports already.
        ServiceFull: There are too many exports.
    """
    room, reader, query = request.room, request.room.store.reader, replace(query, limit=MAX_PAGE)
    with ExitStack() as place:
        place.enter_context(EXPORTS.open(client_of(request)))
        first = await room.threads.run(lambda: _read_part(room, query, requester, style), SEARCH)
        entry = await room.threads.run(lambda: reader.record(requester, "export", query.to_dict()))

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield (style.form.mark + style.form.to_lines([style.titles])).encode()
            count, part = 0, first
            try:
                while True:
                    count += part.count
                    yield part.content
                    if not part.cursor:
                        return
                    following = replace(query, cursor=part.cursor)
                    part = await room.threads.run(
                        partial(_read_part, room, following, requester, style), SEARCH
                    )
            finally:
                await _record_count(room, entry, count)

        return stream_file(request, chunks, place.pop_all(), name=FILE, media_type=CSV)


async def _record_count(room: ControlRoom, entry: int, count: int) -> None:
    """Complete the entry of the audit, also when the caller has hung up amid the file."""
    with anyio.CancelScope(shield=True), suppress(StoreError, ServiceFull):  # the entry is there
        await room.threads.run(lambda: room.store.reader.count(entry, count))


def _read_part(room: ControlRoom, query: PassQuery, requester: Requester, style: FileStyle) -> Part:
    """Read a page. Making its lines takes long, too, so all of it runs in a thread."""
    page = room.store.reader.page(query, requester)
    answers = (
        to_pass(found_pass, page.hits.get(found_pass.number, ())) for found_pass in page.passes
    )
    rows = map(style.to_row, answers)
    return Part(style.form.to_lines(rows).encode(), len(page.passes), page.cursor)
