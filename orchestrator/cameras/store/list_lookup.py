"""Finds the entries of lists that a pass's text matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from rapidfuzz.distance import Levenshtein

from orchestrator.cameras.store.schema import cameras, list_entries, lists


@dataclass(frozen=True)
class ListEntry:
    """A plate of a list.

    Attributes:
        text: Text in Latin look-alikes.
        note: The text that is shown with a hit.
        valid_from_s: Unix time from which it counts; None for always.
        valid_until_s: Unix time until which it counts.
        edits: Most characters by which a read text may differ, 0 to 2.
    """

    text: str
    note: str = ""
    valid_from_s: float | None = None
    valid_until_s: float | None = None
    edits: int = 0

    def is_valid(self, time_s: float) -> bool:
        starts, ends = self.valid_from_s, self.valid_until_s
        return (starts is None or starts <= time_s) and (ends is None or time_s < ends)


@dataclass(frozen=True)
class ListHit:
    """An entry of a list that a pass matches.

    Attributes:
        list: Name of the list.
        entry: The entry.
        edits: Characters by which the text differs from the entry's.
    """

    list: str
    entry: ListEntry
    edits: int


@dataclass(frozen=True)
class LoadedList:
    """A list in memory.

    Attributes:
        id: Its number in the database.
        name: Its name.
        revision: A number that each edit replaces, and that never comes again.
        exact: Its entries by text.
        fuzzy: Its entries that allow edits.
    """

    id: int
    name: str
    revision: int
    exact: dict[str, ListEntry] = field(repr=False)
    fuzzy: tuple[ListEntry, ...] = field(repr=False)

    def match(self, text: str, time_s: float) -> ListHit | None:
        """Return the valid entry that is nearest to a text."""
        entry = self.exact.get(text)
        if entry and entry.is_valid(time_s):
            return ListHit(self.name, entry, 0)
        best: ListHit | None = None
        for entry in self.fuzzy:
            most = min(entry.edits, best.edits - 1 if best else entry.edits)
            edits = Levenshtein.distance(entry.text, text, score_cutoff=most)
            if edits <= most and entry.is_valid(time_s):
                best = ListHit(self.name, entry, edits)
        return best


class ListLookup:
    """Lists in memory, which are read again when they have changed."""

    def __init__(self) -> None:
        self._loaded: dict[int, LoadedList] = {}
        self._of_cameras: Mapping[str, Sequence[str]] = {}

    def refresh(
        self, connection: sa.Connection, of_cameras: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Read what has changed: the cameras' lists, and the lists with another revision.

        Args:
            connection: The transaction.
            of_cameras: The lists of cameras, if they are known. Others are not matched then.
        """
        if of_cameras is None:
            rows = connection.execute(sa.select(cameras.c.name, cameras.c.lists))
            of_cameras = {row.name: row.lists for row in rows}
        found: dict[int, LoadedList] = {}
        for row in connection.execute(sa.select(lists.c.id, lists.c.name, lists.c.revision)).all():
            loaded = self._loaded.get(row.id)
            if loaded is None or (loaded.name, loaded.revision) != (row.name, row.revision):
                loaded = _load(connection, row)
            found[row.id] = loaded
        # Together and at the end: after an error, the lists stay as they were.
        self._loaded, self._of_cameras = found, of_cameras

    def named(self, names: Collection[str]) -> list[LoadedList]:
        """Return the lists of some names; names without a list have none."""
        return [one for one in self._loaded.values() if one.name in names]

    @property
    def revisions(self) -> dict[int, int]:
        """The state of each list, by its number."""
        return {one.id: one.revision for one in self._loaded.values()}

    def match(self, camera: str, text: str, time_s: float) -> dict[int, ListHit]:
        """Return the best hit in each list of a camera, by the list's number."""
        if not text:
            return {}
        names = self._of_cameras.get(camera, ())
        hits = {one.id: one.match(text, time_s) for one in self.named(names)}
        return {number: hit for number, hit in hits.items() if hit}


def read_entries(connection: sa.Connection, list_id: int) -> list[ListEntry]:
    """Return the entries of a list, by text."""
    columns = [column for column in list_entries.c if column.name != "list_id"]
    found = sa.select(*columns).where(list_entries.c.list_id == list_id).order_by("text")
    return [ListEntry(**row) for row in connection.execute(found).mappings()]


def _load(connection: sa.Connection, row: Any) -> LoadedList:
    entries: Sequence[ListEntry] = read_entries(connection, row.id)
    by_edits: dict[bool, list[ListEntry]] = defaultdict(list)
    for entry in entries:
        by_edits[entry.edits > 0].append(entry)
    exact = {entry.text: entry for entry in entries}
    return LoadedList(row.id, row.name, row.revision, exact, tuple(by_edits[True]))
