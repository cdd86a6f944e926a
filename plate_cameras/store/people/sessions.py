"""Sessions of people: which token belongs to whom, and until when."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import sqlalchemy as sa

from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.people import audit
from plate_cameras.store.people.people import Person, to_person
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import people, sessions

MAX_PER_PERSON = 20
"""Largest number of sessions of one person. A further login ends the oldest."""
KEPT_UNTIL = sa.func.coalesce(sessions.c.kept_until_s, sessions.c.expires_s)


class Sessions:
    """The sessions of a store. It holds the SHA-256 of each token, never the token.

    A random token of 256 bits cannot be guessed from its hash, so no slow hash is needed.

    Args:
        clock: Returns the Unix time.
        store_clock: The store's clock; None for `clock`. A session ends when it is over by either.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        store_clock: Callable[[], float] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._store_clock = store_clock or clock

    def begin(self, name: str, checked_hash: str, token: str, lifetime_s: float) -> bool:
        """Begin a session, if the person and the password are still those that were checked.

        Args:
            name: Name of the person.
            checked_hash: The password's hash against which the password was checked.
            token: The session's token.
            lifetime_s: Seconds until the session ends.

        Returns:
            True if it began: the person may have been changed during the check.
        """
        now_s, kept_s = self._clock(), self._store_clock()
        is_same = people.c.password_hash == checked_hash
        is_same = sa.and_(people.c.name == name, is_same, people.c.is_disabled.is_(False))
        row = {
            "token_digest": digest_of(token),
            "person": name,
            "created_s": now_s,
            "expires_s": now_s + lifetime_s,
            "kept_until_s": kept_s + lifetime_s,
        }
        with self._database.writing() as connection:
            statement = sa.select(people.c.groups).where(is_same).with_for_update()
            groups = connection.scalar(statement)
            if groups is None:
                return False
            _delete_old(connection, name, now_s, kept_s)
            connection.execute(sa.insert(sessions), [row])
            requester = Requester(name, "-", Scope(tuple(groups)))
            audit.record(connection, requester, "log in", {}, count=1, now_s=now_s)
        return True

    def find(self, token: str) -> Person | None:
        """Return the person of a session, as the person is now; None if it has ended."""
        statement = sa.select(people).join(sessions, sessions.c.person == people.c.name)
        statement = statement.where(
            sessions.c.token_digest == digest_of(token),
            sessions.c.expires_s > self._clock(),
            self._store_clock() < KEPT_UNTIL,
            people.c.is_disabled.is_(False),
        )
        with self._database.reading() as connection:
            row = connection.execute(statement).mappings().first()
        person = to_person(row) if row else None
        return None if person is None or person.is_disabled else person

    def digests(self) -> frozenset[bytes]:
        """Return the digests of the tokens of all sessions that have not ended."""
        statement = sa.select(sessions.c.token_digest).where(
            sessions.c.expires_s > self._clock(), self._store_clock() < KEPT_UNTIL
        )
        with self._database.reading() as connection:
            return frozenset(connection.execute(statement).scalars())

    def end(self, token: str) -> None:
        with self._database.writing() as connection:
            is_session = sessions.c.token_digest == digest_of(token)
            connection.execute(sa.delete(sessions).where(is_session))


def _delete_old(connection: sa.Connection, name: str, now_s: float, kept_s: float) -> None:
    """Delete sessions that have expired, and the oldest of a person who has too many."""
    has_expired = sa.or_(sessions.c.expires_s <= now_s, kept_s >= KEPT_UNTIL)
    connection.execute(sa.delete(sessions).where(has_expired))
    of_person = sa.select(sessions.c.token_digest).where(sessions.c.person == name)
    newest = of_person.order_by(KEPT_UNTIL.desc()).limit(MAX_PER_PERSON - 1)
    kept_digests = list(connection.execute(newest).scalars())
    is_surplus = sa.and_(sessions.c.person == name, sessions.c.token_digest.not_in(kept_digests))
    connection.execute(sa.delete(sessions).where(is_surplus))


def digest_of(token: str) -> bytes:
    """Return the digest by which the database knows a token."""
    return hashlib.sha256(token.encode()).digest()
