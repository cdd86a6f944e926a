"""Entries of plate lists: their checks, their rows of a CSV file, and their pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import PLAIN, CsvForm
from plate_cameras.passes import to_rfc3339
from plate_cameras.plate_texts import strip_text
from plate_cameras.store.finding.pass_query import LIMIT, MAX_PAGE
from plate_cameras.store.finding.text_patterns import check_edits, clean_text
from plate_cameras.store.lists.doubtful_texts import ACCEPT, explain_doubt
from plate_cameras.store.lists.list_lookup import ListEntry, current_entries, read_entries
from plate_cameras.store.tables.schema import list_entries

COLUMNS = ("text", "note", "valid_from", "valid_until", "edits")
"""Columns of a list's CSV file. Times are RFC 3339."""
MAX_NOTE_LENGTH = 2000
"""Largest number of characters of a note. Each event of a pass that hits the entry has it."""


def check_entry(entry: ListEntry) -> ListEntry:
    """Return an entry with its text as plates have it.

    Raises:
        ParameterError: The text has other characters than letters and digits, another field is out
            of range, or the entry would never count.
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
    starts, ends = entry.valid_from_s, entry.valid_until_s
    if starts is not None and ends is not None and ends <= starts:
        raise ParameterError(
            f"valid_until: wanted a time after {to_rfc3339(starts)}, got {to_rfc3339(ends)}"
        )
    return replace(entry, text=text)


def check_entries(
    entries: Iterable[ListEntry], *, accepts_doubtful: bool = False
) -> dict[str, ListEntry]:
    """Return entries as plates have them, by text.

    Raises:
        ParameterError: A field is out of range, or a text is doubtful and not accepted.
    """
    by_text = {}
    for entry in entries:
        plain_entry = check_entry(entry)
        if not accepts_doubtful and (problem := explain_doubt(plain_entry.text, entry.text)):
            raise ParameterError(f"{problem}; {ACCEPT}")
        by_text[plain_entry.text] = plain_entry
    return by_text


def _check_time(name: str, time_s: float | None) -> None:
    """Check that a time can be shown: near an end of the calendar, its offset leads out of it."""
    try:
        to_rfc3339(time_s or 0.0)
    except (ValueError, OverflowError) as error:
        limits = "a time of the years 1 to 9999 in UTC"
        raise ParameterError(f"{name}: wanted {limits}, got {time_s}") from error


def to_row(entry: ListEntry, form: CsvForm = PLAIN) -> tuple[str | int, ...]:
    """Return an entry as a row of a CSV file."""
    times = (entry.valid_from_s, entry.valid_until_s)
    time_texts = ("" if time is None else to_rfc3339(time) for time in times)
    return (entry.text, form.to_cell(entry.note), *time_texts, entry.edits)


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
        part, text = self.part.casefold(), strip_text(self.part)
        return (text != "" and text in entry.text) or part in entry.note.casefold()


@dataclass(frozen=True)
class EntryPage:
    """Entries, by text.

    Attributes:
        cursor: The `cursor` for the next page; `""` after the last.
    """

    entries: tuple[ListEntry, ...]
    cursor: str


def read_page(connection: sa.Connection, list_id: int, query: EntryQuery) -> EntryPage:
    """Return some entries of a list, by text. At most `query.limit` of them are in memory."""
    statement = current_entries(list_id).where(list_entries.c.text > query.cursor)
    if not query.part:  # else both databases would have to know capitals of all alphabets
        statement = statement.limit(query.limit + 1)
    matches = filter(query.finds, read_entries(connection, statement))
    page = tuple(islice(matches, query.limit))
    has_more = next(matches, None) is not None
    return EntryPage(page, page[-1].text if has_more else "")
