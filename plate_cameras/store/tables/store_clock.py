"""The store's clock: a time that no step of a machine's wall clock changes.

Ages in the store survive restarts, so the steady clock of one boot cannot count them alone; and
anybody may set the wall clock. So the database holds a mark for each boot of each machine: the
store's time, and what both clocks of the machine said then. Within a boot, the store's time
advances as the steady clock does. After another boot, the time that the wall clock says the
machines were off is added, but only when the wall clock was not set for an hour, and when no other
machine has kept the time. Until then the store's clock is late, never early.

It never goes back. Its zero is that of the Unix time at the first start, so values look like such.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import sqlalchemy as sa

from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.store.errors import StoreError
from plate_cameras.store.tables.database import Database, upsert
from plate_cameras.store.tables.schema import passes, store_clock

LOG = logging.getLogger(__name__)
MARK_EVERY_S = 60.0
"""Time between two marks. After a power cut, the clock is late by no more."""
SETTLED_S = 3600.0
"""Time for which the wall clock must not have been set before it is believed."""
STEP_S = 10.0
"""Smallest change between wall clock and steady clock that counts as a step."""
MIN_OFF_S = 300.0
"""Shorter times off are not added: the clocks of two machines may differ by as much."""
TOLD_S = 60.0
"""Smallest reported difference between the wall clock and the store's clock."""
KEEP_BOOTS_S = 90 * 86400.0
BOOT_ID, TIME_NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/time")


class AgeClock(Protocol):
    """A clock from which ages in the store count."""

    def now_s(self) -> float: ...
    @property
    def ahead_s(self) -> float:
        """The seconds that the wall clock is ahead of it."""


@dataclass(frozen=True)
class Mark:
    """The store's time on one boot of a machine.

    Attributes:
        wall_s: Unix time at the same moment.
        steady_s: Time of the steady clock at the same moment.
        settled_s: Time of the steady clock when the wall clock was last seen to be set.
        off_value_s: The last store's time before this boot; None if nothing is to be added.
        off_wall_s: Unix time at that moment.
        other_s: The newest time of other boots when this one began.
    """

    boot: str
    value_s: float
    wall_s: float
    steady_s: float
    settled_s: float
    off_value_s: float | None = None
    off_wall_s: float | None = None
    other_s: float | None = None

    def advance(self, wall_s: float, steady_s: float, other_s: float | None) -> Mark:
        """Return the mark of a later moment.

        Args:
            wall_s: Unix time.
            steady_s: Time of the steady clock.
            other_s: The newest store's time of other boots.
        """
        elapsed_s = max(0.0, steady_s - self.steady_s)
        value_s = max(self.value_s + elapsed_s, other_s or 0.0)
        is_set = abs((wall_s - self.wall_s) - (steady_s - self.steady_s)) >= STEP_S
        later = replace(
            self,
            value_s=value_s,
            wall_s=wall_s,
            steady_s=steady_s,
            settled_s=steady_s if is_set else self.settled_s,
        )
        return later._add_off()

    def _add_off(self) -> Mark:
        """Return the mark with the time off, when it is known."""
        if self.off_value_s is None or self.off_wall_s is None:
            return self
        if self.steady_s - self.settled_s < SETTLED_S:
            return self
        expected_s = self.off_value_s + self.wall_s - self.off_wall_s
        is_missing = expected_s - self.value_s >= MIN_OFF_S
        value_s = expected_s if is_missing else self.value_s
        return replace(self, value_s=value_s, off_value_s=None, off_wall_s=None)


class StoreClock:
    """The clock of one store. Several threads, processes and machines may use it at once.

    Args:
        wall: Returns the Unix time.
        steady: A clock that nobody sets, and that runs on while the machine sleeps.
        boot: Id of the machine's boot.
    """

    def __init__(
        self,
        database: Database,
        *,
        wall: Callable[[], float] = unix_s,
        steady: Callable[[], float] = steady_s,
        boot: str | None = None,
    ) -> None:
        self._database = database
        self._wall, self._steady = wall, steady
        self._boot = boot or read_boot()
        self._lock = Lock()
        self._mark: Mark | None = None
        self._renewed_s = float("-inf")
        self._told_s = 0.0

    @property
    def ahead_s(self) -> float:
        """The seconds that the wall clock is ahead of the store's clock; 0 if that is not known."""
        mark = self._mark
        return self._wall() - self._at(mark) if mark else 0.0

    def now_s(self) -> float:
        """Return the store's time. Not to be called within a transaction that writes.

        Raises:
            StoreError: The database cannot be used, and it was not asked before.
        """
        mark = self._mark
        if mark is None:
            with self._lock:
                mark = self._mark or self._renew_mark()
        elif self._steady() - self._renewed_s >= MARK_EVERY_S and self._lock.acquire(
            blocking=False
        ):
            try:
                with suppress(StoreError):  # it runs on by the steady clock
                    mark = self._renew_mark()
            finally:
                self._lock.release()
        return self._at(mark)

    def _at(self, mark: Mark) -> float:
        return mark.value_s + max(0.0, self._steady() - mark.steady_s)

    def _renew_mark(self) -> Mark:
        """Advance this boot's mark in the database."""
        self._renewed_s = self._steady()
        with self._database.writing() as connection:
            marks = [Mark(**row) for row in connection.execute(sa.select(store_clock)).mappings()]
            own_mark = next((mark for mark in marks if mark.boot == self._boot), None)
            other_marks = [mark for mark in marks if mark.boot != self._boot]
            wall_s, now_s = self._wall(), self._steady()
            if own_mark is None:
                mark = self._begin(connection, other_marks, wall_s, now_s)
            else:
                newest_s = max((mark.value_s for mark in other_marks), default=None)
                mark = _without_off(own_mark, newest_s).advance(wall_s, now_s, newest_s)
            if self._mark:
                mark = replace(mark, value_s=max(mark.value_s, self._at(self._mark)))
            _write(connection, mark)
        self._mark = mark
        self._log_difference(mark)
        return mark

    def _begin(
        self, connection: sa.Connection, other_marks: list[Mark], wall_s: float, now_s: float
    ) -> Mark:
        """Return the first mark of this boot."""
        if not other_marks:
            stored_s = sa.func.coalesce(passes.c.kept_s, passes.c.stored_s)
            newest = sa.select(stored_s).order_by(passes.c.number.desc()).limit(1)
            value_s = float(connection.execute(newest).scalar() or wall_s)
            return Mark(self._boot, value_s, wall_s, now_s, now_s, value_s, value_s)
        last = max(other_marks, key=lambda mark: mark.value_s)
        is_pending = last.off_value_s is not None
        off_value_s = last.off_value_s if is_pending else last.value_s
        off_wall_s = last.off_wall_s if is_pending else last.wall_s
        value_s = last.value_s
        return Mark(self._boot, value_s, wall_s, now_s, now_s, off_value_s, off_wall_s, value_s)

    def _log_difference(self, mark: Mark) -> None:
        ahead_s = mark.wall_s - mark.value_s
        if abs(ahead_s - self._told_s) >= TOLD_S:
            self._told_s = ahead_s
            LOG.warning(
                "the wall clock is %+.0f s from the store's clock: it was set, or this machine was "
                "off. Nothing is deleted before it is old by both",
                ahead_s,
            )


@dataclass(frozen=True)
class UnixClock:
    """A clock that counts all ages by the Unix time, for tests and scripts."""

    clock: Callable[[], float]
    ahead_s: float = 0.0

    def now_s(self) -> float:
        """Return the time."""
        return self.clock()


def read_boot() -> str:
    """Return the id of this boot, of the clock that this process sees."""
    try:
        return f"{BOOT_ID.read_text().strip()} {TIME_NAMESPACE.readlink()}"
    except OSError:  # then each process is a boot of its own
        return str(uuid.uuid4())


def _without_off(own_mark: Mark, newest_s: float | None) -> Mark:
    """Return a mark without added off time, if another machine has kept the time since."""
    if own_mark.other_s is None or newest_s is None or newest_s <= own_mark.other_s:
        return own_mark
    return replace(own_mark, off_value_s=None, off_wall_s=None)


def _write(connection: sa.Connection, mark: Mark) -> None:
    upsert(connection, store_clock, [vars(mark)], "boot")
    is_forgotten = store_clock.c.value_s < mark.value_s - KEEP_BOOTS_S
    connection.execute(sa.delete(store_clock).where(is_forgotten))


@dataclass(frozen=True)
class Age:
    """An age from which something is deleted.

    Attributes:
        until_s: Unix time; what is younger stays.
        kept_now_s: The store's time now; None to count by the Unix time alone.
        kept_until_s: The store's time; what is younger stays.
    """

    until_s: float
    kept_now_s: float | None = None
    kept_until_s: float = 0.0

    def is_reached(
        self, wall_s: sa.ColumnElement[Any], kept_s: sa.ColumnElement[Any]
    ) -> sa.ColumnElement[bool]:
        """Return the condition on a row's Unix time and on its time by the store's clock."""
        is_old: sa.ColumnElement[bool] = wall_s < self.until_s
        if self.kept_now_s is None:
            return is_old
        return sa.and_(is_old, kept_s < self.kept_until_s)


@dataclass(frozen=True)
class Moment:
    """The time by both clocks.

    Attributes:
        wall_s: Unix time.
        kept_s: The store's time; None to count by the Unix time alone.
    """

    wall_s: float
    kept_s: float | None = None

    def before(self, age_s: float) -> Age:
        """Return the age of what is older than some seconds."""
        return Age(self.wall_s - age_s, self.kept_s, (self.kept_s or 0.0) - age_s)

    def to_kept_s(self, stored_s: float) -> float:
        """Return the store's time of an earlier Unix time, if the wall clock was not set since."""
        if self.kept_s is None:
            return stored_s
        return self.kept_s - max(0.0, self.wall_s - stored_s)
