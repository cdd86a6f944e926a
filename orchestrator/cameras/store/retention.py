"""Deletes what is older than it may be, in small transactions.

A list's time precedes a camera's, and a camera's that of the store. The longest time of
several lists counts. Age counts from the last frame of a pass; for a file's clock, from when it was
stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.database import Database, insert
from orchestrator.cameras.store.pictures import PictureStore
from orchestrator.cameras.store.schema import (
    camera_states,
    camera_stills,
    cameras,
    deliveries,
    gate_openings,
    list_hits,
    lists,
    pass_changes,
    passes,
    picture_removals,
    searches,
)

BATCH = 200
"""Passes in one transaction: writers wait no longer than it takes."""
DELIVERY_DAYS = 7.0
"""How long finished deliveries are kept, so that they can be replayed."""
DAY_S = 86400.0
KEPT_S = DELIVERY_DAYS * DAY_S
CHANGES_S = 3600.0
"""How long changes of passes are kept, so that a listener that was away gets them."""


@dataclass(frozen=True)
class DeletionCounts:
    """Numbers of deleted rows and files.

    Attributes:
        passes: Passes, with their readings, hits and deliveries.
        deliveries: Other deliveries, which were finished.
        pictures: Pictures that no pass shows any more.
        spooled: Events of the spool.
        entries: Entries of lists.
        openings: Records of gates.
    """

    passes: int = 0
    deliveries: int = 0
    pictures: int = 0
    spooled: int = 0
    entries: int = 0
    openings: int = 0


Place = tuple[float, int]
START: Place = (float("-inf"), 0)


def delete_expired(database: Database, now_s: float, days: float) -> DeletionCounts:
    """Delete expired passes and finished deliveries; pictures are noted for `remove_pictures`.

    Args:
        database: The database.
        now_s: Unix time.
        days: How long passes are kept unless their camera or list says otherwise.
    """
    counts = [_delete_in_steps(database, one) for one in _expired(database, now_s, days)]
    finished = _delete_in_batches(database, deliveries, deliveries.c.finished_s, now_s - KEPT_S)
    _delete_in_batches(database, pass_changes, pass_changes.c.time_s, now_s - CHANGES_S)
    openings = _delete_openings(database, now_s, days)
    return DeletionCounts(passes=sum(counts), deliveries=finished, openings=openings)


def delete_passes(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Delete passes with all that belongs to them, and note their pictures for removal."""
    chosen = passes.c.number.in_(numbers)
    found = connection.execute(sa.select(passes.c.crop, passes.c.frame).where(chosen)).all()
    if digests := sorted({digest for row in found for digest in row if digest}):
        statement = insert(connection, picture_removals).on_conflict_do_nothing()
        connection.execute(statement, [{"digest": digest} for digest in digests])
    connection.execute(sa.delete(passes).where(chosen))


def remove_pictures(
    database: Database, pictures: PictureStore, locked: Callable[[], AbstractContextManager[object]]
) -> int:
    """Remove the noted pictures that no pass shows. The next run tries again what fails.

    Args:
        database: The database.
        pictures: The pictures.
        locked: Keeps passes from being written meanwhile, by this process.

    Returns:
        The number of removed pictures.

    Raises:
        StoreUnavailable: The pictures' storage cannot be used.
    """
    removed = 0
    while True:
        with locked():
            with database.reading() as connection:
                noted = list(connection.execute(sa.select(picture_removals).limit(BATCH)).scalars())
                shown = _shown(connection, noted)
            for digest in sorted(set(noted) - shown):
                pictures.remove(digest)
                removed += 1
            if not noted:
                return removed
            with database.writing() as connection:
                done = picture_removals.c.digest.in_(noted)
                connection.execute(sa.delete(picture_removals).where(done))


def remove_unshown(database: Database, pictures: PictureStore, digests: Iterable[bytes]) -> int:
    """Remove those of some pictures that no pass shows.

    A picture is written before its pass. Its event may be given up or erased in between.

    Args:
        database: The database.
        pictures: The pictures.
        digests: Pictures that are too old to wait for their passes.

    Returns:
        The number of removed pictures.
    """
    removed, rest = 0, iter(digests)
    while some := [*islice(rest, BATCH)]:
        with database.reading() as connection:
            shown = _shown(connection, some)
        for digest in sorted(set(some) - shown):
            pictures.remove(digest)
            removed += 1
    return removed


def delete_old_states(database: Database, until_s: float) -> None:
    """Delete stills and states of cameras that are not followed any more."""
    with database.writing() as connection:
        connection.execute(sa.delete(camera_stills).where(camera_stills.c.time_s < until_s))
        connection.execute(sa.delete(camera_states).where(camera_states.c.updated_s < until_s))


def delete_searches(database: Database, until_s: float) -> None:
    """Delete the audit's records of earlier searches and exports."""
    with database.writing() as connection:
        connection.execute(sa.delete(searches).where(searches.c.time_s < until_s))


def _expired(database: Database, now_s: float, days: float) -> Iterator[sa.Select[Any]]:
    """Return a statement for each camera and each list with a time of its own."""
    with database.reading() as connection:
        by_camera = connection.execute(sa.select(cameras.c.name, cameras.c.retention_days)).all()
        own = lists.c.retention_days.is_not(None)
        by_list = connection.execute(sa.select(lists.c.id, lists.c.retention_days).where(own)).all()
    for name, camera_days in by_camera:
        until_s = now_s - DAY_S * (days if camera_days is None else camera_days)
        yield _older(until_s).where(passes.c.camera == name, ~_hits([row.id for row in by_list]))
    for number, list_days in by_list:
        longer = [row.id for row in by_list if row.retention_days > list_days]
        older = _older(now_s - DAY_S * list_days)
        yield older.where(_hits([number]), ~_hits(longer))


def _older(until_s: float) -> sa.Select[Any]:
    age_from_s = sa.case((passes.c.clock == "file", passes.c.stored_s), else_=passes.c.last_seen_s)
    columns = (passes.c.first_seen_s, passes.c.number)
    found = sa.select(*columns).where(passes.c.first_seen_s < until_s, age_from_s < until_s)
    return found.order_by(*columns).limit(BATCH)


def _hits(list_ids: Sequence[int]) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        list_hits.c.pass_number == passes.c.number, list_hits.c.list_id.in_(list_ids)
    )


def _delete_in_steps(database: Database, expired: sa.Select[Any]) -> int:
    """Delete what a statement finds; each step starts after the last one."""
    count, after = 0, START
    place = sa.tuple_(passes.c.first_seen_s, passes.c.number)
    while True:
        with database.writing() as connection:
            step = expired if after == START else expired.where(place > sa.tuple_(*after))
            found = connection.execute(step).all()
            if found:
                delete_passes(connection, [row.number for row in found])
        count += len(found)
        if len(found) < BATCH:
            return count
        after = (found[-1].first_seen_s, found[-1].number)


def _delete_in_batches(
    database: Database, table: sa.Table, time_s: sa.Column[float], until_s: float
) -> int:
    """Delete the rows of an earlier time. Return their number."""
    count = 0
    old = sa.select(table.c.number).where(time_s < until_s).limit(BATCH * 10)
    while True:
        with database.writing() as connection:
            deleted = connection.execute(
                sa.delete(table).where(table.c.number.in_(old.scalar_subquery()))
            ).rowcount
        count += deleted
        if deleted < BATCH * 10:
            return count


def _delete_openings(database: Database, now_s: float, days: float) -> int:
    """Delete old records of gates: a list's time precedes its camera's, as for passes."""
    own = sa.func.coalesce(lists.c.retention_days, cameras.c.retention_days, days)
    joined = gate_openings.outerjoin(lists, lists.c.name == gate_openings.c.list)
    joined = joined.outerjoin(cameras, cameras.c.name == gate_openings.c.camera)
    is_old = gate_openings.c.requested_s < now_s - DAY_S * own
    old = sa.select(gate_openings.c.number).select_from(joined).where(is_old).limit(BATCH * 10)
    count = 0
    while True:
        with database.writing() as connection:
            chosen = gate_openings.c.number.in_(old.scalar_subquery())
            deleted = connection.execute(sa.delete(gate_openings).where(chosen)).rowcount
        count += deleted
        if deleted < BATCH * 10:
            return count


def _shown(connection: sa.Connection, digests: Sequence[bytes]) -> set[bytes]:
    columns = (passes.c.crop, passes.c.frame)
    found = sa.union(*(sa.select(column).where(column.in_(digests)) for column in columns))
    return set(connection.execute(found).scalars())
