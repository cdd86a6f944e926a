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
    """Keep all writers of passes waiting until the end of this transaction."""
    lock(connection, ADVISORY_LOCK)


def note_removals(connection: sa.Connection, digests: Iterable[bytes]) -> None:
    """Note pictures that some pass may show no longer. A damaged digest is of none."""
    whole_digests = {digest for digest in digests if isinstance(digest, bytes)}
    if rows := [{"digest": digest} for digest in sorted(whole_digests)]:
        connection.execute(insert(connection, picture_removals).on_conflict_do_nothing(), rows)


def note_pictures(connection: sa.Connection, vehicle_passes: Iterable[Pass]) -> None:
    """Note the pictures of passes that are not stored, but were kept before."""
    pictures = (
        picture for vehicle_pass in vehicle_passes for picture in vehicle_pass.best.pictures
    )
    note_removals(connection, map(digest_of, pictures))


def remove_pictures(database: Database, pictures: PictureStore) -> int:
    """Remove the noted pictures that no pass shows. The next run tries again what fails.

    Returns:
        The number of removed pictures.

    Raises:
        StoreError: The database or the pictures' storage cannot be used.
    """
    count = 0
    while True:
        with database.writing(LONG_S, idle_s=REMOVAL_IDLE_S) as connection:
            lock_writers(connection)
            digests = list(connection.execute(sa.select(picture_removals).limit(AT_ONCE)).scalars())
            if not digests:
                return count
            count += _remove(connection, pictures, digests)
            is_done = picture_removals.c.digest.in_(digests)
            connection.execute(sa.delete(picture_removals).where(is_done))


def remove_unshown(database: Database, pictures: PictureStore, digests: Iterable[bytes]) -> int:
    """Remove those of some pictures that belong to no pass. Return the number of removed pictures.

    They may come from a failed write, whose event was dropped or erased.
    """
    count, remaining_digests = 0, iter(digests)
    while batch := [*islice(remaining_digests, AT_ONCE)]:
        with database.reading(LONG_S) as connection:
            unshown_digests = {*batch} - _find_shown(connection, batch)
        if unshown_digests:
            with database.writing(LONG_S, idle_s=REMOVAL_IDLE_S) as connection:
                lock_writers(connection)
                count += _remove(connection, pictures, sorted(unshown_digests))
    return count


def _remove(connection: sa.Connection, pictures: PictureStore, digests: Sequence[bytes]) -> int:
    """Remove those that no pass shows, and count the round."""
    unshown_digests = sorted({*digests} - _find_shown(connection, digests))
    if unshown_digests:
        statement = insert(connection, picture_rounds).values(id=1, number=1)
        statement = statement.on_conflict_do_update(
            index_elements=["id"], set_={"number": ROUND + 1}
        )
        connection.execute(statement)
        pictures.remove_all(unshown_digests)
    return len(unshown_digests)


def _find_shown(connection: sa.Connection, digests: Sequence[bytes]) -> set[bytes]:
    columns = (passes.c.crop, passes.c.frame)
    statement = sa.union(*(sa.select(column).where(column.in_(digests)) for column in columns))
    return set(connection.execute(statement).scalars())
