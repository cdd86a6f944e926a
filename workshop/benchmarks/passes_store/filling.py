"""Fills the tables of a store quickly, past the store's own way of writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database
from workshop.benchmarks.passes_store.made_passes import (
    CAMERAS,
    HIT_COLUMNS,
    LISTS,
    PASS_COLUMNS,
    READING_COLUMNS,
    MadePass,
    Values,
)

BATCH = 20_000
INDEX = "CREATE INDEX ix_pass_texts_text ON pass_texts USING gin (text gin_trgm_ops)"


def fill(database: Database, made: Iterable[MadePass]) -> None:
    """Write passes; the index of texts is made at the end."""
    with database.writing() as connection:
        _add_names(connection)
        trigger = _stop_indexing(connection, database.is_postgresql)
    for batch in _batches(made):
        with database.writing() as connection:
            _insert(connection, "passes", PASS_COLUMNS, [one.row for one in batch])
            readings = [row for one in batch for row in one.readings]
            _insert(connection, "readings", READING_COLUMNS, readings)
            _insert(
                connection, "list_hits", HIT_COLUMNS, [row for one in batch for row in one.hits]
            )
            zones = [(one.row[0], "gate", one.row[5]) for one in batch]
            _insert(connection, "pass_zones", ("pass_number", "zone", "first_seen_s"), zones)
    with database.writing() as connection:
        _index(connection, trigger, database.is_postgresql)
    if database.is_postgresql:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as vacuum:
            vacuum.exec_driver_sql("VACUUM ANALYZE")


def _add_names(connection: sa.Connection) -> None:
    for name in CAMERAS:
        row = {"name": name}
        connection.execute(sa.text("INSERT INTO cameras (name, lists) VALUES (:name, '[]')"), row)
    statement = "INSERT INTO lists (id, name, note, revision) VALUES (:id, :name, '', 0)"
    for number, name in enumerate(LISTS, 1):
        connection.execute(sa.text(statement), {"id": number, "name": name})


def _stop_indexing(connection: sa.Connection, is_postgresql: bool) -> str:
    """Return the statement of the trigger, in SQLite."""
    if is_postgresql:
        connection.exec_driver_sql("ALTER TABLE passes DISABLE TRIGGER USER")
        connection.exec_driver_sql("DROP INDEX ix_pass_texts_text")
        return ""
    found = "SELECT sql FROM sqlite_master WHERE name = 'pass_texts_insert'"
    trigger = str(connection.exec_driver_sql(found).scalar_one())
    connection.exec_driver_sql("DROP TRIGGER pass_texts_insert")
    return trigger


def _index(connection: sa.Connection, trigger: str, is_postgresql: bool) -> None:
    if is_postgresql:
        added = "INSERT INTO pass_texts SELECT number, text FROM passes WHERE text <> ''"
        numbered = "SELECT setval(pg_get_serial_sequence('passes', 'number'), max(number))"
        again = "ALTER TABLE passes ENABLE TRIGGER USER"
        statements = [added, INDEX, f"{numbered} FROM passes", again]
    else:
        columns = "SELECT number, '^' || text || '$' FROM passes WHERE text <> ''"
        statements = [f"INSERT INTO pass_texts (rowid, text) {columns}", trigger]
    for statement in statements:
        connection.exec_driver_sql(statement)


def _insert(
    connection: sa.Connection, table: str, columns: Sequence[str], rows: Sequence[Values]
) -> None:
    driver: Any = connection.connection.driver_connection
    names = ", ".join(columns)
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(columns))
        driver.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
        return
    with driver.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _batches(made: Iterable[MadePass]) -> Iterator[list[MadePass]]:
    passes = iter(made)
    while batch := list(islice(passes, BATCH)):
        yield batch
