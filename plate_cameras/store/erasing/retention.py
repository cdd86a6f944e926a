"""Deletes what is older than it may be, in small transactions.

A list's time precedes a camera's, and a camera's that of the store. The longest time of
several lists counts. Age counts from the last frame of a pass; for a file's clock, from when it was
stored. It must be reached by the store's clock, too, see `StoreClock`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.erasing.picture_removals import note_removals
from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.finding.change_log import delete_changes
from plate_cameras.store.tables.database import LONG_S, Database
from plate_cameras.store.tables.json_values import read_column, to_optional_number
from plate_cameras.store.tables.schema import (
    camera_states,
    camera_stills,
    cameras,
    deliveries,
    gate_openings,
    list_hits,
    lists,
    pass_changes,
    passes,
    pushed_pictures,
    searches,
)
from plate_cameras.store.tables.store_clock import Age, Moment

BATCH = 200
"""Passes in one transaction: writers wait no longer than it takes."""
LARGE_BATCH = 2000
"""Rows of other tables in one transaction."""
SMALLER = 8
"""A transaction for which a full disk has no room is tried again with this part of its rows."""
DELIVERY_DAYS = 7.0
"""How long finished deliveries are kept, so that they can be replayed."""
DAY_S = 86400.0
KEPT_S = DELIVERY_DAYS * DAY_S
CHANGES_S = 3600.0
"""How long changes of passes are kept, so that a listener that was away gets them."""
KEPT_FROM = sa.func.coalesce(passes.c.kept_s, passes.c.stored_s)
"""The store's time of a pass. Those of earlier versions have none."""
STAMPED_TABLES = {
    gate_openings: sa.true(),
    deliveries: deliveries.c.finished_s.is_not(None),
    searches: sa.true(),
    pass_changes: sa.true(),
    camera_states: sa.true(),
    camera_stills: sa.true(),
    pushed_pictures: sa.true(),
}
"""Tables whose rows get the store's time from retention, and which rows."""


@dataclass(frozen=True)
class DeletionCounts:
    """Numbers of deleted rows and files.

    Attributes:
        passes: Passes, with their readings, hits and deliveries.
    """

    passes: int = 0
    deliveries: int = 0
    pictures: int = 0
    spooled: int = 0
    entries: int = 0
    openings: int = 0


ChangeSome = Callable[[sa.Connection, int, int], int]


def stamp(database: Database, kept_s: float) -> None:
    """Give the store's time to the rows that have none."""
    for table, needs_stamp in STAMPED_TABLES.items():
        _stamp_table(database, table, needs_stamp, kept_s)


def delete_old_passes(database: Database, now: Moment, days: float) -> int:
    """Delete expired passes; their pictures are noted for `remove_pictures`. Return their number.

    Args:
        database: The database.
        now: The time.
        days: How long passes are kept unless their camera or list says otherwise.
    """
    return sum(
        _delete_selected(database, statement) for statement in _select_expired(database, now, days)
    )


def delete_old_deliveries(database: Database, now: Moment) -> int:
    """Delete finished deliveries. Return their number."""
    return _delete_rows(database, deliveries, deliveries.c.finished_s, now.before(KEPT_S))


def delete_old_changes(database: Database, now: Moment) -> int:
    """Delete changes of passes that every listener has read. Return their number."""
    is_old = now.before(CHANGES_S).is_reached(pass_changes.c.time_s, pass_changes.c.kept_s)

    def delete_some(connection: sa.Connection, most: int, _: int) -> int:
        return delete_changes(connection, is_old, most)

    return in_steps(database, delete_some, LARGE_BATCH)


def delete_old_openings(database: Database, now: Moment, days: float) -> int:
    """Delete old records of gates: a list's time precedes its camera's, as for passes."""
    of_list = sa.select(lists.c.retention_days).where(lists.c.name == gate_openings.c.list)
    row_days = sa.func.coalesce(of_list.scalar_subquery(), _days_of(gate_openings.c.camera, days))
    is_old = _is_older(now, row_days, gate_openings.c.requested_s, gate_openings.c.kept_s)
    return _delete_numbers(database, gate_openings, sa.select(gate_openings.c.number).where(is_old))


def delete_old_states(database: Database, now: Moment, days: float) -> None:
    """Delete stills and states of cameras that are not followed any more."""
    times = {camera_stills: camera_stills.c.time_s, camera_states: camera_states.c.updated_s}
    with database.writing() as connection:
        for table, time_s in times.items():
            is_old = _is_older(now, _days_of(table.c.camera, days), time_s, table.c.kept_s)
            connection.execute(sa.delete(table).where(is_old))


def delete_old_pushed(database: Database, now: Moment, days: float) -> None:
    """Delete pictures that cameras have sent and nobody could read, and digests after a day."""
    columns = pushed_pictures.c
    own = _days_of(columns.camera, days)
    kept_days = sa.case((sa.or_(columns.jpeg.is_not(None), own < 1.0), own), else_=1.0)
    is_old = _is_older(now, kept_days, columns.received_s, columns.kept_s)
    _delete_numbers(database, pushed_pictures, sa.select(columns.number).where(is_old))


def delete_searches(database: Database, age: Age) -> None:
    """Delete the audit's records of earlier searches and exports."""
    _delete_rows(database, searches, searches.c.time_s, age)


def delete_passes(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Delete passes with all that belongs to them, and note their pictures for removal."""
    is_chosen = passes.c.number.in_(numbers)
    rows = connection.execute(sa.select(passes.c.crop, passes.c.frame).where(is_chosen)).all()
    note_removals(connection, (digest for row in rows for digest in row if digest))
    connection.execute(sa.delete(passes).where(is_chosen))


def in_steps(database: Database, change_some: ChangeSome, most: int) -> int:
    """Delete or change rows in transactions, until there are none. Return the number of rows.

    A file of SQLite grows by the pages that a transaction changes, before any become free. So on a
    full disk the transactions become smaller, and the log is emptied between them.

    Args:
        database: The database.
        change_some: Gets the transaction, the most rows and the number of rows before. Returns the
            number of rows that it has found. It may be called again after an error.
        most: Most rows in one transaction.
    """
    count = 0
    while True:
        try:
            with database.writing(LONG_S) as connection:
                row_count = change_some(connection, most, count)
        except StoreUnavailable:
            if database.is_postgresql or most == 1:
                raise
            most = max(1, most // SMALLER)
            with suppress(StoreError):
                database.empty_log()
            continue
        count += row_count
        if row_count < most:
            return count


def _stamp_table(
    database: Database, table: sa.Table, needs_stamp: sa.ColumnElement[bool], kept_s: float
) -> None:
    key = next(iter(table.primary_key.columns))
    keys = sa.select(key).where(table.c.kept_s.is_(None), needs_stamp)

    def stamp_some(connection: sa.Connection, most: int, _: int) -> int:
        update = sa.update(table).where(key.in_(keys.limit(most).scalar_subquery()))
        return connection.execute(update.values(kept_s=kept_s)).rowcount

    in_steps(database, stamp_some, LARGE_BATCH)


def _days_of(camera: sa.Column[str], days: float) -> sa.ColumnElement[float]:
    """Return the days for which the data of a row's camera are kept."""
    camera_days = sa.select(cameras.c.retention_days).where(cameras.c.name == camera)
    return sa.func.coalesce(camera_days.scalar_subquery(), days)


def _is_older(
    now: Moment, days: sa.ColumnElement[float], wall_s: sa.Column[float], kept_s: sa.Column[float]
) -> sa.ColumnElement[bool]:
    """Return the condition that a row is older than some days, which may differ by row."""
    is_old = wall_s < now.wall_s - DAY_S * days
    return is_old if now.kept_s is None else sa.and_(is_old, kept_s < now.kept_s - DAY_S * days)


def _select_expired(database: Database, now: Moment, days: float) -> Iterator[sa.Select[Any]]:
    """Return a statement for each camera and each list with a time of its own."""
    with database.reading() as connection:
        camera_rows = connection.execute(sa.select(cameras.c.name, cameras.c.retention_days)).all()
        statement = sa.select(lists.c.id, lists.c.retention_days)
        list_rows = connection.execute(statement).all()
    days_by_list = {number: _read_days(f"list {number}", value) for number, value in list_rows}
    own_days = {number: value for number, value in days_by_list.items() if value is not None}
    for name, value in camera_rows:
        camera_days = _read_days(f"camera {name}", value)
        age = now.before(DAY_S * (days if camera_days is None else camera_days))
        expired = _select_older(age).where(passes.c.camera == name)
        yield expired.where(~_has_hits([*own_days]))
    for number, list_days in own_days.items():
        longer_lists = [other for other, other_days in own_days.items() if other_days > list_days]
        expired = _select_older(now.before(DAY_S * list_days))
        yield expired.where(_has_hits([number]), ~_has_hits(longer_lists))


def _read_days(owner: str, value: Any) -> float | None:
    return read_column(owner, "retention_days", value, to_optional_number)


def _select_older(age: Age) -> sa.Select[Any]:
    age_from_s = sa.case((passes.c.clock == "file", passes.c.stored_s), else_=passes.c.last_seen_s)
    columns = (passes.c.first_seen_s, passes.c.number)
    is_old = age.is_reached(age_from_s, KEPT_FROM)
    statement = sa.select(*columns).where(passes.c.first_seen_s < age.until_s, is_old)
    return statement.order_by(*columns)


def _has_hits(list_ids: Sequence[int]) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        list_hits.c.pass_number == passes.c.number, list_hits.c.list_id.in_(list_ids)
    )


def _delete_selected(database: Database, statement: sa.Select[Any]) -> int:
    """Delete the passes that a statement finds; each step starts where the last one did."""
    place = sa.tuple_(passes.c.first_seen_s, passes.c.number)
    is_left: sa.ColumnElement[bool] = sa.true()

    def delete_some(connection: sa.Connection, most: int, _: int) -> int:
        nonlocal is_left
        rows = connection.execute(statement.where(is_left).limit(most)).all()
        if rows:
            delete_passes(connection, [row.number for row in rows])
            first = rows[0].first_seen_s, rows[0].number
            is_left = place >= sa.tuple_(*first)  # a step that fails begins again
        return len(rows)

    return in_steps(database, delete_some, BATCH)


def _delete_rows(database: Database, table: sa.Table, time_s: sa.Column[float], age: Age) -> int:
    """Delete the rows of an age. Return their number."""
    numbers = sa.select(table.c.number).where(age.is_reached(time_s, table.c.kept_s))
    return _delete_numbers(database, table, numbers)


def _delete_numbers(database: Database, table: sa.Table, numbers: sa.Select[Any]) -> int:
    def delete_some(connection: sa.Connection, most: int, _: int) -> int:
        is_chosen = table.c.number.in_(numbers.limit(most).scalar_subquery())
        return connection.execute(sa.delete(table).where(is_chosen)).rowcount

    return in_steps(database, delete_some, LARGE_BATCH)
