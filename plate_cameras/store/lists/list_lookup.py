"""Finds the entries of lists that a pass's text matches, also with some other characters.

A text is cut into one piece more than it allows edits. A text within these edits has one of the
pieces unchanged, moved by at most so many characters. So only texts with a common piece are
compared.

Source: G. Navarro, "A guided tour to approximate string matching", 2001, section 8 (partitioning
into exact search).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from plate_cameras.store.tables.schema import cameras, list_entries, lists


class SimilarTexts:
    """Texts by the hashes of their pieces, in arrays: they take some 12 bytes for each piece.

    It takes away the comparison of each text with all entries. It does not help with a list of
    which most texts share a piece.

    Args:
        edits: For each text, most characters that may differ.
    """

    def __init__(self, texts: Sequence[str], edits: Sequence[int]) -> None:
        self._texts, self._edits = texts, edits
        self._shapes = sorted({(len(text), most) for text, most in zip(texts, edits, strict=True)})
        hashes, numbers = self._hash_pieces()
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._numbers = hashes[order], numbers[order]

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return the places of similar texts with the characters that differ, the nearest first."""
        wanted = np.fromiter(self._wanted(text), np.int64)
        starts = np.searchsorted(self._hashes, wanted, "left")
        ends = np.searchsorted(self._hashes, wanted, "right")
        spans = zip(starts, ends, strict=True)
        places = sorted({at for start, end in spans for at in self._numbers[start:end].tolist()})
        near = process.extract(
            text,
            [self._texts[at] for at in places],
            scorer=Levenshtein.distance,
            score_cutoff=max(self._edits, default=0),
            limit=None,
        )
        found = [(places[at], int(edits)) for _, edits, at in near]
        return [(at, edits) for at, edits in found if edits <= self._edits[at]]

    def _hash_pieces(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        count = sum(most + 1 for most in self._edits)
        hashes, numbers = np.empty(count, np.int64), np.empty(count, np.int32)
        end = 0
        for at, (text, most) in enumerate(zip(self._texts, self._edits, strict=True)):
            shape = len(text), most
            for number, (start, stop) in enumerate(_cut(*shape)):
                hashes[end], numbers[end] = hash((shape, number, text[start:stop])), at
                end += 1
        return hashes, numbers

    def _wanted(self, text: str) -> Iterator[int]:
        """Return the hashes of all pieces that a similar text may share with a text."""
        for shape in self._shapes:
            length, most = shape
            if abs(length - len(text)) > most:
                continue
            for number, (start, stop) in enumerate(_cut(*shape)):
                for moved in range(max(-most, -start), min(most, len(text) - stop) + 1):
                    yield hash((shape, number, text[start + moved : stop + moved]))


@cache
def _cut(length: int, edits: int) -> tuple[tuple[int, int], ...]:
    """Return the starts and ends of the pieces. The last one is longer: it has the region."""
    ends = [round(length * number / (edits + 2)) for number in range(edits + 1)]
    return tuple(pairwise([*ends, length]))


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
        for at, edits in self.find_similar(text):
            if self.fuzzy[at].is_valid(time_s):
                return ListHit(self.name, self.fuzzy[at], edits)
        return None

    @cached_property
    def find_similar(self) -> Callable[[str], Sequence[tuple[int, int]]]:
        """Returns the places in `fuzzy` whose texts are near, with their edits, nearest first."""
        texts, edits = [one.text for one in self.fuzzy], [one.edits for one in self.fuzzy]
        return lru_cache(TEXTS_AT_ONCE)(SimilarTexts(texts, edits).find)


class ListLookup:
    """Lists in memory, which are read again when they have changed.

    All lookups of a process share their lists: the writer of passes and the gates need the same.
    """

    _shared: ClassVar[WeakValueDictionary[tuple[int, str, int], LoadedList]] = WeakValueDictionary()

    def __init__(self) -> None:
        self._loaded: dict[int, LoadedList] = {}
        self._of_cameras: Mapping[str, Sequence[str]] = {}

    def refresh(self, connection: sa.Connection) -> None:
        """Read what has changed: the cameras' lists, and the lists with another revision.

        Args:
            connection: A transaction that holds no lock: a long list takes a second.
        """
        rows = connection.execute(sa.select(cameras.c.name, cameras.c.lists))
        of_cameras = {row.name: row.lists for row in rows}
        found: dict[int, LoadedList] = {}
        for row in connection.execute(sa.select(lists.c.id, lists.c.name, lists.c.revision)).all():
            loaded = self._loaded.get(row.id)
            if loaded is None or (loaded.name, loaded.revision) != (row.name, row.revision):
                loaded = self._shared.get(tuple(row)) or _load(connection, *row)
                loaded = self._shared.setdefault(tuple(row), loaded)
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

    def match_stored(
        self, connection: sa.Connection, questions: Iterable[Question]
    ) -> dict[Question, dict[int, ListHit]]:
        """Return the hits of several texts, but for those whose entries have changed meanwhile.

        Args:
            connection: The transaction that writes the hits. The lists were read before it.
            questions: The arguments of `match`.
        """
        hits = {question: self.match(*question) for question in {*questions}}
        found = {(number, hit.entry) for some in hits.values() for number, hit in some.items()}
        stored = _read_current(connection, found)
        return {
            one: {number: hit for number, hit in some.items() if (number, hit.entry) in stored}
            for one, some in hits.items()
        }


def current_entries(list_id: int) -> sa.Select[Any]:
    """Return the statement that finds the entries of a list, by text.

    It is one statement, so it finds one edition, also while an import puts another in its place.
    """
    return _entries_in_place().where(lists.c.id == list_id).order_by(list_entries.c.text)


def read_entries(connection: sa.Connection, statement: sa.Select[Any]) -> Iterator[ListEntry]:
    """Return entries one by one; few of their rows are in memory."""
    with connection.execute(statement, execution_options={"yield_per": ROWS_AT_ONCE}) as rows:
        yield from (ListEntry(*row) for row in rows)


def _load(connection: sa.Connection, number: int, name: str, revision: int) -> LoadedList:
    exact = {entry.text: entry for entry in read_entries(connection, current_entries(number))}
    fuzzy = tuple(one for one in exact.values() if one.edits)
    loaded = LoadedList(number, name, revision, exact, fuzzy)
    loaded.match("", 0.0)  # cuts the texts into pieces here, and not in the loop of the gates
    return loaded


def _read_current(
    connection: sa.Connection, hits: Collection[tuple[int, ListEntry]]
) -> set[tuple[int, ListEntry]]:
    """Return which entries of lists are stored in this form now."""
    if not hits:
        return set()
    entry = list_entries.c
    of_lists = lists.c.id.in_({number for number, _ in hits})
    found = _entries_in_place(lists.c.id).where(of_lists)
    found = found.where(entry.text.in_({one.text for _, one in hits}))
    stored = {(number, ListEntry(*rest)) for number, *rest in connection.execute(found)}
    return stored & {*hits}


def _entries_in_place(*more: sa.ColumnElement[Any]) -> sa.Select[Any]:
    entry = list_entries.c
    columns = entry.text, entry.note, entry.valid_from_s, entry.valid_until_s, entry.edits
    is_in_place = sa.and_(entry.list_id == lists.c.id, entry.edition == lists.c.edition)
    return sa.select(*more, *columns).join_from(lists, list_entries, is_in_place)
