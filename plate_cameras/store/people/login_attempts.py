"""Limits on logins, shared by all processes that use the database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database, insert
from plate_cameras.store.tables.schema import login_attempts

MAX_DELETED = 1000


@dataclass(frozen=True)
class AttemptLimit:
    """The limit on the failed logins of one subject.

    Attributes:
        subject: The name or the address of a login. Only its SHA-256 is stored: people type
            passwords into the field of the name.
        attempts: Most attempts at once.
        interval_s: Seconds after which one more is allowed.
    """

    subject: str
    attempts: int
    interval_s: float

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.subject.encode()).digest()

    def wait_s(self, used_until_s: float, now_s: float) -> float:
        """Return the seconds until an attempt is allowed, without that attempt; 0 if it is now."""
        allowed_s = (self.attempts - 1) * self.interval_s
        return max(0.0, used_until_s - now_s - allowed_s)

    def longest_s(self, now_s: float) -> float:
        """Return the latest time until which attempts can be used up, unless the clock was late."""
        return now_s + self.attempts * self.interval_s


class LoginAttempts:
    """Counts attempts. An attempt counts from its start, so that many at once pass no limit.

    For each subject, the table holds the time until which its attempts are used up; each attempt
    moves it by the subject's interval.

    Args:
        clock: A clock that nobody sets, the same for all processes: the store's.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def take(self, limits: Sequence[AttemptLimit]) -> float:
        """Count an attempt of all these subjects, unless one of them has to wait.

        Returns:
            The seconds to wait; 0 if the attempt is allowed and counted.
        """
        now_s = self._clock()
        if wait_s := self._wait_s(limits, now_s):  # costs no write
            return wait_s
        with self._database.writing() as connection:
            for limit in _sort(limits):
                used_until_s = _count(connection, limit, now_s) - limit.interval_s
                wait_s = max(wait_s, limit.wait_s(used_until_s, now_s))
            if wait_s:
                connection.rollback()
            else:
                _delete_unused(connection, now_s)
        return wait_s

    def give_back(self, limits: Sequence[AttemptLimit]) -> None:
        """Count an attempt no more, because it succeeded."""
        used_until_s = login_attempts.c.used_until_s
        with self._database.writing() as connection:
            for limit in _sort(limits):
                update = sa.update(login_attempts).where(login_attempts.c.subject == limit.digest)
                connection.execute(update.values(used_until_s=used_until_s - limit.interval_s))

    def _wait_s(self, limits: Sequence[AttemptLimit], now_s: float) -> float:
        digests = [limit.digest for limit in limits]
        statement = sa.select(login_attempts).where(login_attempts.c.subject.in_(digests))
        with self._database.reading() as connection:
            used_until_s = {row.subject: row.used_until_s for row in connection.execute(statement)}
        times_s = {limit: used_until_s.get(limit.digest, now_s) for limit in limits}
        late = [limit for limit in limits if times_s[limit] > limit.longest_s(now_s)]
        if late:
            self._shorten(late, now_s)
            times_s |= {limit: limit.longest_s(now_s) for limit in late}
        return max(limit.wait_s(time_s, now_s) for limit, time_s in times_s.items())

    def _shorten(self, limits: Sequence[AttemptLimit], now_s: float) -> None:
        """Let attempts count no longer than from now on: the clock is late, or was set."""
        with self._database.writing() as connection:
            for limit in _sort(limits):
                update = sa.update(login_attempts).where(login_attempts.c.subject == limit.digest)
                connection.execute(update.values(used_until_s=limit.longest_s(now_s)))


def _sort(limits: Iterable[AttemptLimit]) -> list[AttemptLimit]:
    """Return limits in the order in which all transactions lock their rows."""
    return sorted(limits, key=lambda limit: limit.digest)


def _count(connection: sa.Connection, limit: AttemptLimit, now_s: float) -> float:
    """Count one attempt of a subject, and return the time until which its attempts are used."""
    used_until_s = login_attempts.c.used_until_s
    row = {"subject": limit.digest, "used_until_s": now_s + limit.interval_s}
    from_s = sa.case((used_until_s > now_s, used_until_s), else_=now_s)
    statement = insert(connection, login_attempts).values(row)
    statement = statement.on_conflict_do_update(
        index_elements=[login_attempts.c.subject], set_={"used_until_s": from_s + limit.interval_s}
    )
    return float(connection.execute(statement.returning(used_until_s)).scalar_one())


def _delete_unused(connection: sa.Connection, now_s: float) -> None:
    """Delete subjects whose attempts are all allowed again; those in use elsewhere stay."""
    subjects = sa.select(login_attempts.c.subject).where(login_attempts.c.used_until_s <= now_s)
    subjects = subjects.limit(MAX_DELETED).with_for_update(skip_locked=True)
    connection.execute(sa.delete(login_attempts).where(login_attempts.c.subject.in_(subjects)))
