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
from plate_cameras.store.tables.schema import METADATA, list_entries, lists
from tests.plate_cameras.store.postgresql_server import PostgresqlServer

NUMBERS = count()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    server: PostgresqlServer = request.getfixturevalue("server")
    return server.create_database(f"empty_{next(NUMBERS)}")


@pytest.fixture
def database(empty_url: str) -> Iterator[Database]:
    opened = Database(empty_url)
    yield opened
    opened.close()


def _is_plain(name: str | None, kind: str) -> bool:
    """Tell whether a table is neither part of the text index nor Alembic's own."""
    return kind != "table" or not str(name).startswith(("pass_texts", "alembic"))


def test_migrations_make_the_tables_of_the_code(database: Database) -> None:
    upgrade(database)

    with database.reading() as connection:
        options = {"include_name": lambda name, kind, _: _is_plain(name, kind)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, METADATA) == []


def test_a_second_upgrade_changes_nothing(database: Database) -> None:
    upgrade(database)
    upgrade(database)

    with database.reading() as connection:
        assert sa.inspect(connection).has_table("passes")


def test_entries_with_the_country_become_entries_of_their_plates(database: Database) -> None:
    upgrade(database)
    stored = {"list_id": 1, "edition": 0, "edits": 0}
    texts = {"A123BC77RUS": "first", "B777BB77": "kept", "B777BB77PYC": "second", "K777KK50": ""}
    with database.writing() as connection:
        row = {"id": 1, "name": "residents", "note": "", "revision": 7, "entries": 4}
        connection.execute(sa.insert(lists).values(row))
        rows = [{**stored, "text": text, "note": note} for text, note in texts.items()]
        connection.execute(sa.insert(list_entries), rows)
        connection.exec_driver_sql("DROP TABLE departures")
        connection.exec_driver_sql("DROP INDEX ix_gate_openings_requested")
        for name in ("person", "remark"):
            connection.exec_driver_sql(f"ALTER TABLE gate_openings DROP COLUMN {name}")
        connection.exec_driver_sql("ALTER TABLE readings DROP COLUMN source")
        connection.exec_driver_sql("DROP TABLE pushed_pictures")
        for name in ("speed_kmh", "speed_error_kmh"):
            connection.exec_driver_sql(f"ALTER TABLE passes DROP COLUMN {name}")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0012'")

    upgrade(database)

    with database.reading() as connection:
        found = sa.select(list_entries.c.text, list_entries.c.note).order_by("text")
        kept = [("A123BC77", "first"), ("B777BB77", "kept"), ("K777KK50", "")]
        assert [tuple(row) for row in connection.execute(found)] == kept
        plate_list = connection.execute(sa.select(lists)).one()
        assert (plate_list.entries, plate_list.revision != 7) == (3, True)


def test_tables_of_an_unknown_version_stay_as_they_are(database: Database) -> None:
    upgrade(database)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0011'")

    with pytest.raises(
        StoreError, match="wanted revision 0017 or 0016 or 0015 or 0014 or 0013 or 0012, got 0011"
    ):
        upgrade(database)
    with database.reading() as connection:
        assert sa.inspect(connection).has_table("passes")


def test_an_upgrade_that_fails_leaves_nothing(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("CREATE TABLE searches (number INTEGER)"))

    with pytest.raises(Exception, match="searches"):
        upgrade(database)
    with database.reading() as connection:
        assert not sa.inspect(connection).has_table("passes")
