"""Reads files of plates: CSV as our exports, Excel and offices write it, or one plate a line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import chain

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import BYTE_ORDER_MARK, EXCEL, PLAIN, CsvForm
from plate_cameras.store.lists.list_editions import MAX_ENTRIES
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.lists.plate_entries import COLUMNS, check_entry

MAX_FILE_ROWS = MAX_ENTRIES
"""Largest number of rows of a file. Its entries are one list."""
MAX_FILE_BYTES = 16 * 2**20
LAST_S = 253402300799.0
"""Last second of the year 9999. No later time can be shown."""
LINE = re.compile(r".*\n|.+")
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
RUSSIAN_TIME = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
FORMS = (EXCEL, CsvForm("\t", splits=",;\n"), PLAIN)
UNNAMED = COLUMNS[:2]
"""Columns of a file without a header."""
NAMES = {
    **{name: name for name in COLUMNS},
    "номер": "text",
    "госномер": "text",
    "государственныйномер": "text",
    "грз": "text",
    "номеравто": "text",
    "номеравтомобиля": "text",
    "plate": "text",
    "примечание": "note",
    "комментарий": "note",
    "действуетс": "valid_from",
    "действуетдо": "valid_until",
    "до": "valid_until",
    "отличия": "edits",
}
"""Columns by the names that files give them, in small letters without blanks and points."""


def decode(content: bytes) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or Windows-1251.

    Raises:
        ParameterError: It is too long, or no text.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"file: wanted at most {MAX_FILE_BYTES} bytes, got {len(content)}")
    if content.startswith(WORKBOOKS):
        raise ParameterError("file: wanted CSV, got a workbook; save it as CSV in Excel")
    if content.startswith(UTF_16):
        text = content.decode("utf-16", errors="replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1251", errors="replace")
    if "\0" in text or "\ufffd" in text:
        raise ParameterError("file: wanted CSV in UTF-8, UTF-16 or Windows-1251, got other bytes")
    return text


def parse_csv(content: str) -> dict[str, ListEntry]:
    """Return the entries of a file, by text; the last row counts. The first line has the form.

    Raises:
        ParameterError: A row is wrong, or there are too many; the message names the line.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"file: wanted at most {MAX_FILE_BYTES} bytes, got {len(content)}")
    lines = LINE.finditer(content, content.startswith(BYTE_ORDER_MARK))
    first_line = content.partition("\n")[0]
    form = next((form for form in FORMS if form.separator in first_line), PLAIN)
    rows = csv.reader((line.group() for line in lines), strict=True, delimiter=form.separator)
    entries: dict[str, ListEntry] = {}
    try:
        columns, filled = _read_columns(rows)
        for count, row in enumerate(filled, 1):
            if count > MAX_FILE_ROWS:
                raise ParameterError(f"rows: wanted at most {MAX_FILE_ROWS}, got more")
            entry = _to_entry(_name_cells(columns, row), form)
            entries[entry.text] = entry
    except (ValueError, csv.Error, ParameterError) as error:
        if str(error).startswith("columns:"):
            raise
        raise ParameterError(f"line {max(rows.line_num, 1)}: {error}") from error
    return entries


def _read_columns(rows: Iterator[list[str]]) -> tuple[Sequence[str], Iterator[list[str]]]:
    """Return the names of the columns, and the rows that are not empty."""
    filled = (row for row in rows if any(map(str.strip, row)))
    head = next(filled, [])
    names = [NAMES.get(_fold(cell), cell.strip()) for cell in head]
    while names and not names[-1]:
        names.pop()
    if "text" in names and not set(names) - set(COLUMNS) and len({*names}) == len(names):
        return names, filled
    if names and len(names) <= len(UNNAMED) and any(map(str.isdigit, names[0])):
        return UNNAMED, chain([head], filled)
    raise ParameterError(f"columns: wanted {', '.join(COLUMNS)}, got {', '.join(names)[:200]}")


def _fold(cell: str) -> str:
    return re.sub(r"[\s.]+", "", cell).casefold()


def _name_cells(columns: Sequence[str], row: Sequence[str]) -> Mapping[str, str]:
    if any(map(str.strip, row[len(columns) :])):
        raise ParameterError(f"cells: wanted at most {len(columns)}, got {len(row)}")
    return {name: cell.strip() for name, cell in zip(columns, row, strict=False)}


def _to_entry(cells: Mapping[str, str], form: CsvForm) -> ListEntry:
    return check_entry(
        ListEntry(
            cells.get("text", ""),
            form.from_cell(cells.get("note", "")),
            _to_unix("valid_from", cells.get("valid_from")),
            _to_unix("valid_until", cells.get("valid_until")),
            _to_edits(cells.get("edits")),
        )
    )


def _to_edits(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise ParameterError(f"edits: wanted 0, 1 or 2, got {text!r}") from error


def _to_unix(column: str, text: str | None) -> float | None:
    """Return a time as Unix time. A date alone is a day of local time, to its end for an end.

    An RFC 3339 time without an offset is UTC; 31.12.2027 18:00 is local time.
    """
    if not text:
        return None
    try:
        if match := RUSSIAN_TIME.fullmatch(text):
            day, month, year, *clock = (int(part or 0) for part in match.groups())
            if match[4] is None:
                return day_bound(date(year, month, day), is_end=column == "valid_until")
            hour, minute, second = clock
            return datetime(year, month, day, hour, minute, second).astimezone().timestamp()
        if ISO_DAY.fullmatch(text):
            return day_bound(date.fromisoformat(text), is_end=column == "valid_until")
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError) as error:
        wanted = "a date such as 2026-12-31 or 31.12.2026, or an RFC 3339 time"
        raise ParameterError(f"{column}: wanted {wanted}, got {text!r}") from error


def day_bound(day: date, *, is_end: bool) -> float:
    """Return the Unix time at which a day of local time starts or ends."""
    if is_end and day == date.max:
        return LAST_S
    day += timedelta(days=is_end)
    return datetime(day.year, day.month, day.day).astimezone().timestamp()
