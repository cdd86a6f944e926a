"""The log of changes of passes, which listeners follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.pass_query import FoundPass, StoredHit, to_found
from orchestrator.cameras.store.schema import pass_changes, passes
from orchestrator.cameras.store.search import read_hits

PAGE = 500
"""Most changes that are read at once."""
MOST_GAPS = 1000
OPEN = 100
"""Numbers below all others that may still become visible when a reader begins."""
GAP_S = 60.0
"""Longest time that the transaction of a change may stay open after a later change is visible."""


@dataclass(frozen=True)
class PassChange:
    """A change of a pass, with the pass as it is now.

    Attributes:
        number: Number of the change.
        kind: Kind of its event.
        found: The pass.
        hits: Its hits.
        settled: All changes up to this number have been read, if they were not too late.
    """

    number: int
    kind: str
    found: FoundPass
    hits: tuple[StoredHit, ...]
    settled: int


class ChangeLog:
    """The changes of passes in the database.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self) -> int:
        """Return the highest number of a change; 0 without any."""
        with self._database.reading() as connection:
            return connection.scalar(sa.select(sa.func.max(pass_changes.c.number))) or 0

    def numbers(self, after: int, until: int) -> set[int]:
        """Return the numbers of changes above `after`, up to `until`."""
        number = pass_changes.c.number
        with self._database.reading() as connection:
            statement = sa.select(number).where(number > after, number <= until)
            return {*connection.execute(statement).scalars()}

    def read(self, after: int, also: Sequence[int] = (), limit: int = PAGE) -> list[PassChange]:
        """Return the changes above a number, and those with other numbers, in their order."""
        number = pass_changes.c.number
        statement = (
            sa.select(number.label("change"), pass_changes.c.kind, *passes.c)
            .join_from(pass_changes, passes)
            .where(sa.or_(number > after, number.in_(also)) if also else number > after)
            .order_by(number)
            .limit(limit)
        )
        with self._database.reading() as connection:
            rows = [dict(row) for row in connection.execute(statement).mappings()]
            hits = read_hits(connection, sorted({row["number"] for row in rows}))
        changes = [(row.pop("change"), row.pop("kind"), to_found(row)) for row in rows]
        return [
            PassChange(change, kind, found, hits.get(found.number, ()), settled=change)
            for change, kind, found in changes
        ]


class ChangeReader:
    """Reads each change once, as soon as it is visible.

    PostgreSQL gives out numbers before transactions commit, so a lower number may become visible
    after a higher one. The reader remembers the numbers that it has not seen, and asks for them
    again for `GAP_S`.

    Args:
        log: The log.
        clock: A clock that no one sets.

    Attributes:
        last: The highest number that was read.
    """

    def __init__(self, log: ChangeLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._gaps: dict[int, float] = {}
        self.last = log.newest()
        earliest = max(0, self.last - MOST_GAPS)
        seen = log.numbers(earliest, self.last)
        # Older numbers were deleted; only the last of them may belong to open transactions.
        self._note_gaps(max(earliest, min(seen, default=self.last) - OPEN), seen)

    @property
    def settled(self) -> int:
        """The number up to which nothing is missing. A listener may begin after it again."""
        return min(self._gaps, default=self.last + 1) - 1

    def read(self) -> list[PassChange]:
        """Return the changes that have become visible since the last call, `PAGE` at most.

        Raises:
            StoreError: The database cannot be used. The next call returns what this one did not.
        """
        late_s = self._clock() - GAP_S
        self._gaps = {one: since for one, since in self._gaps.items() if since > late_s}
        changes = self._log.read(self.last, [*self._gaps])
        seen = {one.number for one in changes}
        for number in seen:
            self._gaps.pop(number, None)
        newest = max(seen, default=self.last)
        if newest > self.last:
            self._note_gaps(self.last, seen, newest)
            self.last = newest
        settled = self.settled
        return [replace(one, settled=min(settled, one.number)) for one in changes]

    def _note_gaps(self, after: int, seen: set[int], until: int | None = None) -> None:
        end = self.last if until is None else until
        now_s = self._clock()
        missing = (one for one in range(max(after, end - MOST_GAPS) + 1, end) if one not in seen)
        self._gaps |= dict.fromkeys(missing, now_s)
        for number in sorted(self._gaps)[:-MOST_GAPS]:
            del self._gaps[number]
