"""Entries of plate lists: their checks, their CSV file, and their pages."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import islice

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import BYTE_ORDER_MARK, EXCEL, PLAIN, CsvForm
from plate_cameras.events import to_rfc3339
from plate_cameras.store.finding.pass_query import LIMIT, MAX_PAGE
from plate_cameras.store.finding.text_patterns import check_edits, clean_text
from plate_cameras.store.lists.list_editions import MAX_ENTRIES
from plate_cameras.store.lists.list_lookup import ListEntry, current_entries, read_entries
from plate_cameras.store.tables.schema import list_entries

DAY, DAY_S = re.compile(r"\d{4}-\d{2}-\d{2}"), 86400.0
LAST_S = 253402300799.0
"""Last second of the year 9999. No later time can be shown."""
COLUMNS = ("text", "note", "valid_from", "valid_until", "edits")
"""Columns of a list's CSV file. Times are RFC 3339."""
MAX_NOTE_LENGTH = 2000
"""Largest number of characters of a note. Each event of a pass that hits the entry has it."""
MAX_FILE_ROWS = MAX_ENTRIES
"""Largest number of rows of a CSV file. Its entries are one list."""
MAX_FILE_BYTES = 16 * 2**20
LINE = re.compile(r".*\n|.+")


def check_entry(entry: ListEntry) -> ListEntry:
    """Return an entry with its text as plates have it.

    Raises:
        ParameterError: The text cannot be on a plate, or another field is out of range.
    """
    text = clean_text(entry.text)
    if not text:
        raise ParameterError("text: wanted a plate's text, got none")
    check_edits(text, entry.edits)
    if len(entry.note) > MAX_NOTE_LENGTH:
        raise ParameterError(
            f"note: wanted at most {MAX_NOTE_LENGTH} characters, got {len(entry.note)}"
        )
    _check_time("valid_from", entry.valid_from_s)
    _check_time("valid_until", entry.valid_until_s)
    return replace(entry, text=text)


def _check_time(name: str, time_s: float | None) -> None:
    """Check that a time can be shown: near an end of the calendar, its offset leads out of it."""
    try:
        to_rfc3339(time_s or 0.0)
    except (ValueError, OverflowError) as error:
        wanted = "a time of the years 1 to 9999 in UTC"
        raise ParameterError(f"{name}: wanted {wanted}, got {time_s}") from error


def parse_csv(content: str) -> dict[str, ListEntry]:
    """Return the entries of a CSV file with the columns `COLUMNS`, by text; the last row counts.

    The form is that of the first line.

    Raises:
        ParameterError: A row is wrong, or there are too many; the message names the line.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"file: wanted at most {MAX_FILE_BYTES} bytes, got {len(content)}")
    lines = LINE.finditer(content, content.startswith(BYTE_ORDER_MARK))
    form = _form_of(content)
    texts = (line.group() for line in lines)
    rows = csv.DictReader(texts, strict=True, delimiter=form.separator)
    try:
        columns = rows.fieldnames or ()
    except csv.Error as error:
        raise ParameterError(f"line 1: {error}") from error
    if set(columns) - set(COLUMNS) or "text" not in columns:
        raise ParameterError(
            f"columns: wanted {', '.join(COLUMNS)}, got {', '.join(columns)[:200]}"
        )
    entries: dict[str, ListEntry] = {}
    try:
        for count, row in enumerate(rows, 1):
            if count > MAX_FILE_ROWS:
                raise ParameterError(f"rows: wanted at most {MAX_FILE_ROWS}, got more")
            entry = _from_csv(row, form)
            entries[entry.text] = entry
    except (ValueError, csv.Error, ParameterError) as error:
        raise ParameterError(f"line {rows.line_num}: {error}") from error
    return entries


def _form_of(content: str) -> CsvForm:
    """Return the form of a file. No column has a semicolon in its name."""
    first_line = content[: content.find("\n")] if "\n" in content else content
    return EXCEL if EXCEL.separator in first_line else PLAIN


def _from_csv(row: dict[str, str], form: CsvForm) -> ListEntry:
    return check_entry(
        ListEntry(
            row["text"] or "",
            form.from_cell(row.get("note") or ""),
            _to_unix("valid_from", row.get("valid_from")),
            _to_unix("valid_until", row.get("valid_until")),
            _to_edits(row.get("edits")),
        )
    )


def to_row(entry: ListEntry, form: CsvForm = PLAIN) -> tuple[str | int, ...]:
    """Return an entry as a row of a CSV file."""
    times = (entry.valid_from_s, entry.valid_until_s)
    shown = ("" if one is None else to_rfc3339(one) for one in times)
    return (entry.text, form.to_cell(entry.note), *shown, entry.edits)


def _to_edits(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise ParameterError(f"edits: wanted 0, 1 or 2, got {text!r}") from error


def _to_unix(column: str, text: str | None) -> float | None:
    """Return an RFC 3339 time as Unix time; without an offset, it is UTC.

    A date alone is the start of its day, and the end of its day as `valid_until`.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        wanted = "a date such as 2026-12-31 or an RFC 3339 time"
        raise ParameterError(f"{column}: wanted {wanted}, got {text!r}") from error
    at_s = (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    return end_of_day(at_s) if column == "valid_until" and DAY.fullmatch(text) else at_s


def end_of_day(start_s: float) -> float:
    """Return the Unix time of the end of a day, from its start."""
    return min(start_s + DAY_S, LAST_S)


@dataclass(frozen=True)
class EntryQuery:
    """A search among the entries of a list.

    Attributes:
        part: A part of the text or of the note, in capitals or not; all entries if it is empty.
        limit: Most entries of a page.
        cursor: Text of the last entry of the page before.
    """

    part: str = ""
    limit: int = LIMIT
    cursor: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_PAGE:
            raise ParameterError(f"limit: wanted 1 to {MAX_PAGE}, got {self.limit}")

    def finds(self, entry: ListEntry) -> bool:
        """Tell whether an entry has the part."""
        part = self.part.casefold()
        return part in entry.text.casefold() or part in entry.note.casefold()


@dataclass(frozen=True)
class EntryPage:
    """Entries, by text.

    Attributes:
        entries: The entries.
        cursor: The `cursor` for the next page; `""` after the last.
    """

    entries: tuple[ListEntry, ...]
    cursor: str


def read_page(connection: sa.Connection, list_id: int, query: EntryQuery) -> EntryPage:
    """Return some entries of a list, by text. At most `query.limit` of them are in memory."""
    statement = current_entries(list_id).where(list_entries.c.text > query.cursor)
    if not query.part:  # else both databases would have to know capitals of all alphabets
        statement = statement.limit(query.limit + 1)
    found = filter(query.finds, read_entries(connection, statement))
    entries = tuple(islice(found, query.limit + 1))
    shown = entries[: query.limit]
    return EntryPage(shown, shown[-1].text if len(entries) > query.limit else "")
