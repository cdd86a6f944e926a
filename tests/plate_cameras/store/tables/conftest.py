"""Stores of SQLite whose values a test damages."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from tests.plate_cameras.store.tables.damaged_store import Damage


@pytest.fixture
def damage(tmp_path: Path, store: PassStore) -> Damage:
    """Return a function that puts a value into a column of the rows of a condition."""

    def put(column: str, value: str, condition: str) -> None:
        table, name = column.split(".")
        statement = f"UPDATE {table} SET {name} = {value} WHERE {condition}"
        url = f"sqlite:///{tmp_path / 'passes.db'}"
        with closing(Database(url)) as database, database.writing() as connection:
            assert connection.exec_driver_sql(statement).rowcount

    return put


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the address of an empty database of SQLite."""
    shutil.copy(sqlite_template, tmp_path / "passes.db")
    return f"sqlite:///{tmp_path / 'passes.db'}"
