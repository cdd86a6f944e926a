"""Pages of the entries of a list."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.store.finding.pass_query import LIMIT, MOST
from plate_cameras.store.lists.list_lookup import ListEntry, current_entries, read_entries
from plate_cameras.store.tables.schema import list_entries


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
        if not 1 <= self.limit <= MOST:
            raise ParameterError(f"limit: wanted 1 to {MOST}, got {self.limit}")

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
