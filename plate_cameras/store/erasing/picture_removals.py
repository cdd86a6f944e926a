"""Removes pictures that no pass shows, while other processes write passes.

A picture is kept before its pass is written. In between, another process may find that no pass
shows it. So a removal holds a lock that no writer of passes has, looks again, removes the pictures,
and counts a round, all in one transaction. If the round has changed since a writer stored its
pictures, it stores them again, under the lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import sqlalchemy as sa

from plate_cameras.passes import Pass
from plate_cameras.store.tables.database import LONG_S, Database, insert, lock
from plate_cameras.store.tables.schema import passes, picture_removals, picture_rounds
from plate_cameras.store.writing.pictures import PictureStore, digest_of

ADVISORY_LOCK = 0x70696373
"""Number of the lock in PostgreSQL. Writers of passes share it."""
AT_ONCE = 20
"""Pictures that are removed in one transaction: writers wait no longer than it takes."""
REMOVAL_IDLE_S = 60.0
"""Longest time for these pictures, for which the transaction waits."""
ROUND = picture_rounds.c.number


def read_round(connection: sa.Connection) -> int:
    """Return the number of the last round in which pictures were removed."""
    return connection.execute(sa.select(ROUND)).scalar() or 0


def lock_pictures(connection: sa.Connection) -> int:
    """Keep pictures from being removed until the end of this transaction. Return the last round."""
    lock(connection, ADVISORY_LOCK, is_shared=True)
    return read_round(connection)


def lock_writers(connection: sa.Connection) -> None:
    """Keep passes from being written until the end of this transaction, by whomever."""
    lock(connection, ADVISORY_LOCK)


def note_removals(connection: sa.Connection, digests: Iterable[bytes]) -> None:
    """Note pictures that some pass may show no longer."""
    if rows := [{"digest": digest} for digest in sorted({*digests})]:
        connection.execute(insert(connection, picture_removals).on_conflict_do_nothing(), rows)


def note_pictures(connection: sa.Connection, dropped: Iterable[Pass]) -> None:
    """Note the pictures of passes that are not stored, but were kept before."""
    shown = (picture for one in dropped for picture in one.best.pictures)
    note_removals(connection, map(digest_of, shown))


def remove_pictures(database: Database, pictures: PictureStore) -> int:
    """Remove the noted pictures that no pass shows. The next run tries again what fails.

    Returns:
        The number of removed pictures.

    Raises:
        StoreError: The database or the pictures' storage cannot be used.
    """
    removed = 0
    while True:
        with database.writing(LONG_S, idle_s=REMOVAL_IDLE_S) as connection:
            lock_writers(connection)
            noted = list(connection.execute(sa.select(picture_removals).limit(AT_ONCE)).scalars())
            if not noted:
                return removed
            removed += _remove(connection, pictures, noted)
            done = picture_removals.c.digest.in_(noted)
            connection.execute(sa.delete(picture_removals).where(done))


def remove_unshown(database: Database, pictures: PictureStore, digests: Iterable[bytes]) -> int:
    """Remove those of some pictures that belong to no pass. Return the number of removed pictures.

    They may come from a failed write, whose event was dropped or erased.
    """
    removed, rest = 0, iter(digests)
    while some := [*islice(rest, AT_ONCE)]:
        with database.reading(LONG_S) as connection:
            unshown = {*some} - _shown(connection, some)
        if unshown:
            with database.writing(LONG_S, idle_s=REMOVAL_IDLE_S) as connection:
                lock_writers(connection)
                removed += _remove(connection, pictures, sorted(unshown))
    return removed


def _remove(connection: sa.Connection, pictures: PictureStore, digests: Sequence[bytes]) -> int:
    """Remove those that no pass shows, and count the round."""
    unshown = sorted({*digests} - _shown(connection, digests))
    if unshown:
        counted = insert(connection, picture_rounds).values(id=1, number=1)
        counted = counted.on_conflict_do_update(index_elements=["id"], set_={"number": ROUND + 1})
        connection.execute(counted)
        pictures.remove_all(unshown)
    return len(unshown)


def _shown(connection: sa.Connection, digests: Sequence[bytes]) -> set[bytes]:
    columns = (passes.c.crop, passes.c.frame)
    statement = sa.union(*(sa.select(column).where(column.in_(digests)) for column in columns))
    return set(connection.execute(statement).scalars())
