"""A store in each database. PostgreSQL runs once for each process of the tests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import upgrade
from plate_cameras.store.tables.schema import METADATA
from tests.plate_cameras.store.postgresql_server import (
    QuickPostgres,
    running_postgresql,
)
from tests.plate_cameras.store.stored_events import NOW_S
from tests.virtual_time import Clock


@pytest.fixture(scope="session")
def server() -> Iterator[QuickPostgres]:
    with running_postgresql() as new_server:
        yield new_server


@pytest.fixture(scope="session")
def shared_url(server: QuickPostgres) -> str:
    """Return a database with tables, which tests use one after the other."""
    url = server.create_database("shared")
    _make_tables(url)
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "passes.db"
    _make_tables(f"sqlite:///{file}")
    return file


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)],
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty database that has its tables."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        shutil.copy(template, tmp_path / "passes.db")
        return f"sqlite:///{tmp_path / 'passes.db'}"
    shared_address: str = request.getfixturevalue("shared_url")
    _empty_tables(shared_address)
    return shared_address


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW_S)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """Return further connections to the store's database."""
    connections = Database(url)
    yield connections
    connections.close()


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Callable[..., PassStore]]:
    """Return a function that opens stores, which are closed after the test."""
    with ExitStack() as stack:

        def open_another(url: str = "", folder: Path = tmp_path, **options: Any) -> PassStore:
            """Open a store; `options` are those of `open_store`, or further settings."""
            clock_options = {"clock", "make_clock"} & options.keys()
            clocks = {name: options.pop(name) for name in clock_options}
            # The pictures of the tests are no JPEG files, so they cannot be blurred.
            settings = Store(url=url, **{"blur": "none", **options})
            return stack.enter_context(closing(open_store(settings, folder, **clocks)))

        yield open_another


@pytest.fixture
def store(url: str, opening: Callable[..., PassStore]) -> PassStore:
    """Return a store whose clock stands at NOW_S."""
    return opening(url, keep_frames=True, clock=lambda: NOW_S)


def _make_tables(url: str) -> None:
    database = Database(url)
    upgrade(database)
    database.close()


def _empty_tables(url: str) -> None:
    database = Database(url)
    with database.writing() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(sa.delete(table))
    database.close()
