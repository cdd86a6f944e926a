"""The history of the tables, alike in both databases."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from plate_cameras.store.errors import StoreError
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import upgrade
from plate_cameras.store.tables.row_batches import keep_first, replace_by, write_rows
from plate_cameras.store.tables.schema import (
    METADATA,
    cameras,
    list_entries,
    lists,
    picture_removals,
)
from tests.plate_cameras.store.postgresql_server import QuickPostgres

NUMBERS = count()
NEWER = (
    "gate_openings.person",
    "gate_openings.remark",
    "readings.source",
    "passes.speed_kmh",
    "passes.speed_error_kmh",
)
"""Columns that version 0012 did not have."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    server: QuickPostgres = request.getfixturevalue("server")
    return server.create_database(f"empty_{next(NUMBERS)}")


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    empty_database = Database(empty_url)
    yield empty_database
    empty_database.close()


def _is_plain(name: str | None, kind: str) -> bool:
    """Tell whether a table is neither part of the text index nor Alembic's own."""
    return kind != "table" or not str(name).startswith(("pass_texts", "alembic"))


def test_migrations_make_the_tables_of_the_code(empty: Database) -> None:
    upgrade(empty)
    upgrade(empty)  # changes nothing
    with empty.reading() as connection:
        options = {"include_name": lambda name, kind, _: _is_plain(name, kind)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, METADATA) == []


def test_entries_with_the_country_become_entries_of_their_plates(empty: Database) -> None:
    upgrade(empty)
    key = {"list_id": 1, "edition": 0, "edits": 0}
    texts = {"A123BC77RUS": "first", "B777BB77": "kept", "B777BB77PYC": "second", "K777KK50": ""}
    with empty.writing() as connection:
        row = {"id": 1, "name": "residents", "note": "", "revision": 7, "entries": 4}
        connection.execute(sa.insert(lists).values(row))
        rows = [{**key, "text": text, "note": note} for text, note in texts.items()]
        connection.execute(sa.insert(list_entries), rows)
        connection.exec_driver_sql("DROP TABLE departures")
        connection.exec_driver_sql("DROP INDEX ix_gate_openings_requested")
        connection.exec_driver_sql("DROP TABLE pushed_pictures")
        for name in NEWER:
            table, _, column = name.partition(".")
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0012'")

    upgrade(empty)

    with empty.reading() as connection:
        statement = sa.select(list_entries.c.text, list_entries.c.note).order_by("text")
        rows_left = [("A123BC77", "first"), ("B777BB77", "kept"), ("K777KK50", "")]
        assert [tuple(row) for row in connection.execute(statement)] == rows_left
        plate_list = connection.execute(sa.select(lists)).one()
        assert (plate_list.entries, plate_list.revision != 7) == (3, True)


def test_tables_of_an_unknown_version_stay_as_they_are(empty: Database) -> None:
    upgrade(empty)
    with empty.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0011'")

    with pytest.raises(
        StoreError, match="wanted revision 0017 or 0016 or 0015 or 0014 or 0013 or 0012, got 0011"
    ):
        upgrade(empty)
    with empty.reading() as connection:
        assert sa.inspect(connection).has_table("passes")


def test_an_upgrade_that_fails_leaves_nothing(empty: Database) -> None:
    with empty.writing() as connection:
        connection.execute(sa.text("CREATE TABLE searches (number INTEGER)"))

    with pytest.raises(Exception, match="searches"):
        upgrade(empty)
    with empty.reading() as connection:
        assert not sa.inspect(connection).has_table("passes")


ROWS = [
    {"name": "gate", "lists": ["residents", 'a "b" \\ ы'], "retention_days": 0.1 + 0.2},
    {"name": "o'yard", "lists": [], "retention_days": None},
]


def read(database: Database, table: sa.Table) -> list[dict[str, object]]:
    with database.reading() as connection:
        rows = connection.execute(sa.select(table).order_by(*table.primary_key))
        return [dict(row) for row in rows.mappings()]


def test_values_are_kept_exactly(database: Database) -> None:
    with database.writing() as connection:
        write_rows(connection, cameras, [])
        write_rows(connection, cameras, ROWS)
    assert read(database, cameras) == ROWS


def test_bytes_are_kept_once(database: Database) -> None:
    digests = [{"digest": bytes(32)}, {"digest": bytes(range(200, 232))}]
    with database.writing() as connection:
        write_rows(connection, picture_removals, digests)
        write_rows(connection, picture_removals, digests, keep_first("digest"))

    assert read(database, picture_removals) == digests


def test_a_row_is_replaced_except_for_what_stays(database: Database) -> None:
    newer = {"name": "gate", "lists": ["wanted"], "retention_days": 7.0}
    with database.writing() as connection:
        write_rows(connection, cameras, ROWS)
        write_rows(connection, cameras, [newer], replace_by("name", cameras, "retention_days"))

    assert read(database, cameras)[0] == {**newer, "retention_days": 0.1 + 0.2}
