"""The history of the tables, alike in both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import revisions, upgrade
from plate_cameras.store.tables.schema import METADATA, cameras, passes
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.plate_cameras.store.stored_events import NOW_S, find_ids

NUMBERS = count()
OLD_PASS = {
    "id": "old",
    "camera": "gate",
    "progress": "closed",
    "clock": "wall",
    **dict.fromkeys(("first_seen_s", "last_seen_s", "stored_s"), NOW_S),
    "text": "A123BC77",
    "text_score": 0.9,
    "format": "ru_car",
    "region_code": "77",
    "direction": "",
    "speed_widths_s": 0.0,
    "frames": 0,
    "candidates": [],
    "zones": [],
    "crossings": [],
    "best": {},
}


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
    """Leave out the index of texts, which triggers fill, and Alembic's own table."""
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


@pytest.mark.parametrize("revision", revisions())
def test_passes_of_earlier_revisions_are_found(
    database: Database, empty_url: str, tmp_path: Path, revision: str
) -> None:
    upgrade(database, revision)
    with database.writing() as connection:
        connection.execute(sa.insert(cameras), [{"name": "gate", "lists": []}])
        connection.execute(sa.insert(passes), [OLD_PASS])

    store = open_store(Store(url=empty_url), tmp_path)
    assert find_ids(store, PassQuery(parts=("123",))) == ["old"]
    assert find_ids(store, PassQuery("A128BC77", edits=1)) == ["old"]
    store.close()


def test_entries_of_earlier_lists_stay_and_are_counted(
    database: Database, empty_url: str, tmp_path: Path
) -> None:
    upgrade(database, "0011")
    with database.writing() as connection:
        insert = "INSERT INTO lists (name, note, revision) VALUES ('residents', '', 5)"
        connection.exec_driver_sql(insert)
        number = connection.exec_driver_sql("SELECT id FROM lists").scalar_one()
        for text in ("A123BC77", "B777BB77"):
            values = f"({number}, '{text}', 'flat 4', NULL, 5, 1)"
            connection.exec_driver_sql(f"INSERT INTO list_entries VALUES {values}")

    store = open_store(Store(url=empty_url), tmp_path)
    entry = ListEntry("A123BC77", "flat 4", None, 5.0, 1)
    assert store.lists.entries("residents", EVERYTHING) == [entry, replace(entry, text="B777BB77")]
    assert store.lists.describe(EVERYTHING)[0].entries == 2
    store.lists.import_csv("residents", "text\nC001CC77\n", replacing=True)
    assert [one.text for one in store.lists.entries("residents", EVERYTHING)] == ["C001CC77"]
    store.close()


def test_an_upgrade_that_fails_leaves_nothing(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("CREATE TABLE searches (number INTEGER)"))

    with pytest.raises(Exception, match="searches"):
        upgrade(database)
    with database.reading() as connection:
        assert not sa.inspect(connection).has_table("passes")
