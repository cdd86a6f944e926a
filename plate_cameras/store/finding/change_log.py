"""The log of changes of passes, which listeners follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from plate_cameras.store.finding.pass_query import FoundPass, StoredHit
from plate_cameras.store.finding.search import read_hits
from plate_cameras.store.finding.stored_rows import to_found_pass
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database, insert, is_postgresql
from plate_cameras.store.tables.schema import change_horizon, pass_changes, passes

PAGE = 500
"""Largest number of changes that are read at once."""
OPEN = 10_000
"""Largest distance below the newest number at which one may still become visible."""
HORIZON = "pass_changes"
"""The row of `change_horizon`."""
Range = tuple[int, int]
"""The first and the last number."""


@dataclass(frozen=True)
class PassChange:
    """A change of a pass, with the pass as it is now.

    Attributes:
        settled: All changes up to this number have been read.
    """

    number: int
    kind: str
    found_pass: FoundPass
    hits: tuple[StoredHit, ...]
    settled: int


class ChangeLog:
    """The changes of passes in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self) -> int:
        """Return the highest number of a change; 0 without any."""
        with self._database.reading() as connection:
            visible = connection.scalar(sa.select(sa.func.max(pass_changes.c.number))) or 0
            return max(visible, _read_horizon(connection))

    def has_all_after(self, number: int) -> bool:
        """Tell whether a listener that has seen a number can get all that followed.

        It cannot if changes were deleted for their age meanwhile, or if this number was never
        given out: then another database has taken the place of the one before.
        """
        with self._database.reading() as connection:
            return _read_horizon(connection) <= number <= _read_highest(connection)

    def numbers(self, after: int, until: int) -> set[int]:
        """Return the numbers of changes above `after`, up to `until`."""
        number = pass_changes.c.number
        with self._database.reading() as connection:
            statement = sa.select(number).where(number > after, number <= until)
            return {*connection.execute(statement).scalars()}

    def transactions(self) -> tuple[int, int]:
        """Return the numbers of the oldest transaction that is open, and of the next one.

        SQLite has one writer at a time, so its changes become visible in their order.
        """
        if not self._database.is_postgresql:
            return 0, 0
        borders = "pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint"
        with self._database.reading() as connection:
            rows = connection.exec_driver_sql(f"SELECT {borders} FROM pg_current_snapshot() now")
            oldest, following = rows.one()
            return oldest, following

    def read(self, after: int, also: Sequence[Range] = (), limit: int = PAGE) -> list[PassChange]:
        """Return the changes above a number, and those in ranges below it, in their order."""
        number = pass_changes.c.number
        below = [number.between(first, last) for first, last in also]
        statement = (
            sa.select(number.label("change"), pass_changes.c.kind, *passes.c)
            .join_from(pass_changes, passes)
            .where(sa.or_(number > after, *below))
            .order_by(number)
            .limit(limit)
        )
        with self._database.reading() as connection:
            rows = [dict(row) for row in connection.execute(statement).mappings()]
            hits = read_hits(connection, sorted({row["number"] for row in rows}), EVERYTHING)
        changes = [(row.pop("change"), row.pop("kind"), to_found_pass(row)) for row in rows]
        return [
            PassChange(change, kind, found_pass, hits.get(found_pass.number, ()), settled=change)
            for change, kind, found_pass in changes
        ]


def delete_changes(connection: sa.Connection, is_old: sa.ColumnElement[bool], most: int) -> int:
    """Delete some old changes, and remember up to which number some are gone.

    Returns:
        The number of deleted changes.
    """
    number = pass_changes.c.number
    chosen_numbers = sa.select(number).where(is_old).limit(most).scalar_subquery()
    deletion = sa.delete(pass_changes).where(number.in_(chosen_numbers)).returning(number)
    deleted_numbers = connection.execute(deletion).scalars().all()
    if deleted_numbers:
        _raise_horizon(connection, max(deleted_numbers))
    return len(deleted_numbers)


def _read_horizon(connection: sa.Connection) -> int:
    return connection.scalar(sa.select(change_horizon.c.number)) or 0


def _raise_horizon(connection: sa.Connection, number: int) -> None:
    statement = insert(connection, change_horizon).values(name=HORIZON, number=number)
    higher = change_horizon.c.number < statement.excluded.number
    values = {"number": statement.excluded.number}
    key = [change_horizon.c.name]
    connection.execute(
        statement.on_conflict_do_update(index_elements=key, set_=values, where=higher)
    )


def _read_highest(connection: sa.Connection) -> int:
    """Return the highest number that was ever given to a change, deleted ones included."""
    if is_postgresql(connection):
        sequence = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}"
        name = "SELECT pg_get_serial_sequence('pass_changes', 'number')"
        statement = sequence.format(connection.exec_driver_sql(name).scalar_one())
    else:
        statement = "SELECT seq FROM sqlite_sequence WHERE name = 'pass_changes'"
    return int(connection.exec_driver_sql(statement).scalar() or 0)


@dataclass(frozen=True)
class _Gap:
    """Numbers that were not seen. Their transactions are older than `before`."""

    first: int
    last: int
    before: int

    def without(self, numbers: Iterable[int]) -> Iterator[_Gap]:
        """Return what is left of the gap."""
        first = self.first
        for number in sorted(number for number in numbers if self.first <= number <= self.last):
            if first < number:
                yield _Gap(first, number - 1, self.before)
            first = number + 1
        if first <= self.last:
            yield _Gap(first, self.last, self.before)


class ChangeReader:
    """Reads each change once, as soon as it is visible.

    PostgreSQL gives out numbers before transactions commit, so a lower number may become visible
    after a higher one. The reader remembers the numbers that it has not seen, and asks for them
    again until all transactions have ended that were open when it missed them.
    """

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._gaps: list[_Gap] = []
        oldest, _ = log.transactions()
        self.last = log.newest()
        earliest = max(0, self.last - OPEN)
        self._note_gaps(earliest, self.last, log.numbers(earliest, self.last))
        self._gaps = [gap for gap in self._gaps if gap.before > oldest]

    @property
    def settled(self) -> int:
        """The number up to which nothing is missing. A listener may begin after it again."""
        return min((gap.first for gap in self._gaps), default=self.last + 1) - 1

    def read(self) -> list[PassChange]:
        """Return the changes that have become visible since the last call, `PAGE` at most.

        Raises:
            StoreError: The database cannot be used. The next call returns what this one did not.
        """
        oldest, _ = self._log.transactions()  # before the changes: what has ended is visible then
        changes = self._log.read(self.last, [(gap.first, gap.last) for gap in self._gaps])
        numbers = {change.number for change in changes}
        newest = max(self.last, *numbers) if numbers else self.last
        if newest > self.last:
            self._note_gaps(self.last, newest, numbers)
        read_to = newest if len(changes) < PAGE else max(numbers)
        remaining_gaps = [part for gap in self._gaps for part in gap.without(numbers)]
        self._gaps = [gap for gap in remaining_gaps if gap.before > oldest or gap.last > read_to]
        self.last = newest
        settled = self.settled
        return [replace(change, settled=min(settled, change.number)) for change in changes]

    def _note_gaps(self, after: int, until: int, numbers: set[int]) -> None:
        """Note the numbers between two that were not seen."""
        gaps = [*_Gap(after + 1, until, 0).without(numbers)]
        if gaps:
            _, following = self._log.transactions()
            self._gaps += [replace(gap, before=following) for gap in gaps]
