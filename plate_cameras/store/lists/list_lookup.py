"""Finds the entries of lists that a pass's text matches, also with some other characters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import sqlalchemy as sa

from plate_cameras.store.lists.similar_texts import SimilarTexts
from plate_cameras.store.tables.json_values import read_column, to_texts, warn_of_damage
from plate_cameras.store.tables.schema import cameras, list_entries, lists

TEXTS_AT_ONCE = 256
"""Texts whose similar entries a list remembers: a gate asks for the same vehicle every second."""
ROWS_AT_ONCE = 1000
Question = tuple[str, str, float]
"""A camera, a text and a Unix time."""


@dataclass(frozen=True, slots=True)
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

    @property
    def is_whole(self) -> bool:
        """False if a value is of another kind: SQLite stores any. Nothing can compare it."""
        times = self.valid_from_s, self.valid_until_s
        are_times = all(time_s is None or isinstance(time_s, (int, float)) for time_s in times)
        are_texts = isinstance(self.text, str) and isinstance(self.note, str)
        return are_times and are_texts and isinstance(self.edits, int)

    def is_valid(self, time_s: float) -> bool:
        starts, ends = self.valid_from_s, self.valid_until_s
        return (starts is None or starts <= time_s) and (ends is None or time_s < ends)


@dataclass(frozen=True)
class ListHit:
    """An entry of a list that a pass matches.

    Attributes:
        edits: Characters by which the text differs from the entry's.
    """

    list: str
    entry: ListEntry
    edits: int


@dataclass(frozen=True)
class LoadedList:
    """A list in memory.

    Attributes:
        revision: A number that each edit replaces, and that never comes again.
        damaged: Texts of entries whose other values cannot be read. They match nothing.
    """

    id: int
    name: str
    revision: int
    exact: dict[str, ListEntry] = field(repr=False)
    fuzzy: tuple[ListEntry, ...] = field(repr=False)
    damaged: frozenset[str] = field(default=frozenset(), repr=False)

    def blocks(self, text: str, time_s: float) -> bool:
        """Tell whether a list of plates that may not come in has a text, perhaps damaged."""
        return text in self.damaged or self.match(text, time_s) is not None

    def match(self, text: str, time_s: float) -> ListHit | None:
        """Return the valid entry that is nearest to a text."""
        entry = self.exact.get(text)
        if entry and entry.is_valid(time_s):
            return ListHit(self.name, entry, 0)
        for at, edits in self.find_similar(text):
            if self.fuzzy[at].is_valid(time_s):
                return ListHit(self.name, self.fuzzy[at], edits)
        return None

    @cached_property
    def find_similar(self) -> Callable[[str], Sequence[tuple[int, int]]]:
        """Returns the places in `fuzzy` whose texts are near, with their edits, nearest first."""
        texts, edits = [entry.text for entry in self.fuzzy], [entry.edits for entry in self.fuzzy]
        return lru_cache(TEXTS_AT_ONCE)(SimilarTexts(texts, edits).find)


class ListLookup:
    """Lists in memory, which are read again when they have changed.

    All lookups of a process share their lists: the writer of passes and the gates need the same.
    """

    _shared: ClassVar[WeakValueDictionary[tuple[int, str, int], LoadedList]] = WeakValueDictionary()

    def __init__(self) -> None:
        self._loaded: Mapping[int, LoadedList] = {}
        self._of_cameras: Mapping[str, Sequence[str]] = {}

    def refresh(self, connection: sa.Connection) -> None:
        """Read what has changed: the cameras' lists, and the lists with another revision.

        Args:
            connection: A transaction that holds no lock: a long list takes a second.
        """
        rows = connection.execute(sa.select(cameras.c.name, cameras.c.lists))
        of_cameras = {
            row.name: read_column(f"camera {row.name}", "lists", row.lists, to_texts) or ()
            for row in rows
        }
        loaded_lists: dict[int, LoadedList] = {}
        for row in connection.execute(sa.select(lists.c.id, lists.c.name, lists.c.revision)).all():
            loaded_list = self._shared.get(tuple(row)) or _load(connection, *row)
            loaded_lists[row.id] = self._shared.setdefault(tuple(row), loaded_list)
        self.replace(loaded_lists, of_cameras)  # at the end: after an error, all stays as it was

    def replace(
        self, loaded_lists: Mapping[int, LoadedList], of_cameras: Mapping[str, Sequence[str]]
    ) -> None:
        """Replace all lists, by their numbers, and the names of each camera's lists."""
        self._loaded, self._of_cameras = loaded_lists, of_cameras

    def named(self, names: Collection[str]) -> list[LoadedList]:
        """Return the lists that have one of some names."""
        return [loaded_list for loaded_list in self._loaded.values() if loaded_list.name in names]

    @property
    def all(self) -> Collection[LoadedList]:
        return self._loaded.values()

    @property
    def revisions(self) -> dict[int, int]:
        """The state of each list, by its number."""
        return {number: loaded_list.revision for number, loaded_list in self._loaded.items()}

    def match(self, camera: str, text: str, time_s: float) -> dict[int, ListHit]:
        """Return the best hit in each list of a camera, by the list's number."""
        if not text:
            return {}
        names = self._of_cameras.get(camera, ())
        hits = {loaded.id: loaded.match(text, time_s) for loaded in self.named(names)}
        return {number: hit for number, hit in hits.items() if hit}

    def match_stored(
        self, connection: sa.Connection, questions: Iterable[Question]
    ) -> dict[Question, dict[int, ListHit]]:
        """Return the hits of several texts, but for those whose entries have changed meanwhile.

        Args:
            connection: The transaction that writes the hits. The lists were read before it.
            questions: The arguments of `match`.
        """
        answers = {question: self.match(*question) for question in {*questions}}
        keys = {(number, hit.entry) for hits in answers.values() for number, hit in hits.items()}
        valid_keys = _read_current(connection, keys)
        return {
            question: {key: hit for key, hit in hits.items() if (key, hit.entry) in valid_keys}
            for question, hits in answers.items()
        }


def current_entries(list_id: int) -> sa.Select[Any]:
    """Return the statement that finds the entries of a list, by text.

    It is one statement, so it finds one edition, also while an import puts another in its place.
    """
    return _entries_in_place().where(lists.c.id == list_id).order_by(list_entries.c.text)


def read_entries(
    connection: sa.Connection,
    statement: sa.Select[Any],
    on_damage: Callable[[str], None] = lambda _: None,
) -> Iterator[ListEntry]:
    """Return entries one by one; few of their rows are in memory.

    Args:
        connection: The transaction.
        statement: Finds the entries.
        on_damage: Takes the texts of the entries that cannot be read, which are left out.
    """
    with connection.execute(statement, execution_options={"yield_per": ROWS_AT_ONCE}) as rows:
        for row in rows:
            entry = ListEntry(*row)
            if entry.is_whole:
                yield entry
            else:
                warn_of_damage(f"entry {entry.text!r}", "validity or edits")
                on_damage(entry.text)


def _load(connection: sa.Connection, number: int, name: str, revision: int) -> LoadedList:
    damaged = set[str]()
    entries = read_entries(connection, current_entries(number), damaged.add)
    exact = {entry.text: entry for entry in entries}
    fuzzy = tuple(entry for entry in exact.values() if entry.edits)
    loaded_list = LoadedList(number, name, revision, exact, fuzzy, frozenset(damaged))
    loaded_list.match("", 0.0)  # cuts the texts into pieces here, and not in the loop of the gates
    return loaded_list


def _read_current(
    connection: sa.Connection, hits: Collection[tuple[int, ListEntry]]
) -> set[tuple[int, ListEntry]]:
    """Return which entries of lists are stored in this form now."""
    if not hits:
        return set()
    entry = list_entries.c
    of_lists = lists.c.id.in_({number for number, _ in hits})
    statement = _entries_in_place(lists.c.id).where(of_lists)
    statement = statement.where(entry.text.in_({hit_entry.text for _, hit_entry in hits}))
    rows = connection.execute(statement)
    return {(number, ListEntry(*values)) for number, *values in rows} & {*hits}


def _entries_in_place(*more_columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    entry = list_entries.c
    columns = entry.text, entry.note, entry.valid_from_s, entry.valid_until_s, entry.edits
    is_in_place = sa.and_(entry.list_id == lists.c.id, entry.edition == lists.c.edition)
    return sa.select(*more_columns, *columns).join_from(lists, list_entries, is_in_place)
