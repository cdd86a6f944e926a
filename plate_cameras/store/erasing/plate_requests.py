"""Finds and deletes everything about one plate, on its owner's request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.erasing.retention import BATCH, delete_passes, in_steps
from plate_cameras.store.finding.pass_query import PassDetails
from plate_cameras.store.finding.search import describe
from plate_cameras.store.finding.stored_rows import to_found_pass
from plate_cameras.store.lists.list_editions import count_again
from plate_cameras.store.openings import gate_openings
from plate_cameras.store.openings.opening_log import OpeningLog
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import LONG_S, Database
from plate_cameras.store.tables.schema import (
    camera_stills,
    list_entries,
    list_hits,
    lists,
    passes,
    readings,
)

STILL_S = 60.0
"""A still of so long before or after a pass may show its vehicle."""


def select_passes_of(text: str) -> sa.Select[Any]:
    """Return the statement that finds the passes of a plate.

    These are the passes with this very text, and passes without a text in one of whose frames it
    was read.
    """
    has_reading = sa.exists().where(
        readings.c.pass_number == passes.c.number, readings.c.text == text
    )
    by_text = sa.select(passes.c.number).where(passes.c.text == text)
    by_reading = sa.select(passes.c.number).where(passes.c.text == "", has_reading)
    return sa.union_all(by_text, by_reading).subquery().select()


def count_passes_of(connection: sa.Connection, text: str, scope: Scope) -> int:
    """Return the number of passes of a plate in a scope."""
    return len(_numbers_of(connection, text, scope))


def read_passes_of(connection: sa.Connection, text: str, scope: Scope) -> Iterator[PassDetails]:
    """Return the passes of a plate in a scope, one by one, with their readings and hits."""
    for number in _numbers_of(connection, text, scope):
        statement = sa.select(passes).where(passes.c.number == number)
        row = connection.execute(statement).mappings().one()
        yield describe(connection, to_found_pass(row), scope)


def _numbers_of(connection: sa.Connection, text: str, scope: Scope) -> Sequence[int]:
    statement = sa.select(passes.c.number).where(passes.c.number.in_(select_passes_of(text)))
    if scope.cameras is not None:
        statement = statement.where(passes.c.camera.in_(scope.cameras))
    return connection.execute(statement.order_by(passes.c.number)).scalars().all()


def delete_passes_of(database: Database, text: str) -> int:
    """Delete the passes of a plate, in small transactions. Return their number."""

    def delete_some(connection: sa.Connection, most: int, _: int) -> int:
        numbers = connection.execute(select_passes_of(text).limit(most)).scalars().all()
        if numbers:
            _delete_stills(connection, numbers)
            delete_passes(connection, numbers)
        return len(numbers)

    return in_steps(database, delete_some, BATCH)


def select_ids_of(text: str) -> sa.Select[tuple[str]]:
    """Return the statement that finds the ids of the passes of a plate."""
    return sa.select(passes.c.id).where(passes.c.number.in_(select_passes_of(text)))


def _delete_stills(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Delete stills that may show vehicles of passes. A camera that is followed gets a new one."""
    still, columns = camera_stills.c, passes.c
    may_be_shown = sa.exists().where(
        columns.number.in_(numbers),
        columns.camera == still.camera,
        still.time_s.between(columns.first_seen_s - STILL_S, columns.last_seen_s + STILL_S),
    )
    connection.execute(sa.delete(camera_stills).where(may_be_shown))


def delete_openings_of(database: Database, log: OpeningLog, text: str) -> int:
    """Delete what gates did for a plate, also what waits for the database. Return its number."""
    waiting = log.erase(text)
    with database.writing() as connection:
        return waiting + gate_openings.delete_openings_of(connection, text)


def delete_entries_of(database: Database, text: str) -> int:
    """Delete a plate from all lists, and its hits by other texts. Return the number of entries.

    It goes from editions of imports, too, also from those that have ended by an error.
    """
    entry = list_entries.c
    with database.reading(LONG_S) as connection:  # it reads all entries, and holds no lock
        statement = sa.select(entry.list_id, entry.edition).where(entry.text == text)
        keys = {tuple(row) for row in connection.execute(statement)}
    with database.writing() as connection:
        current = sa.select(lists.c.id, lists.c.edition, lists.c.last_edition).with_for_update()
        rows = connection.execute(current.order_by(lists.c.id)).all()
        in_place = {(row.id, row.edition) for row in rows}
        keys |= in_place | {(row.id, row.last_edition) for row in rows}
        count = 0
        for list_id, edition in sorted(keys):
            key = (entry.list_id == list_id, entry.edition == edition, entry.text == text)
            removed_count = connection.execute(sa.delete(list_entries).where(*key)).rowcount
            if removed_count and (list_id, edition) in in_place:
                count_again(connection, list_id, -removed_count)
                count += removed_count
        connection.execute(sa.delete(list_hits).where(list_hits.c.entry_text == text))
    return count
