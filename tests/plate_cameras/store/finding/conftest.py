"""A store for the tests of a module that only read it."""

from collections.abc import Iterator

import pytest

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.store.postgresql_server import QuickPostgres


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)]
)
def empty_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PassStore]:
    """Return an empty store, which the fixture `filled_store` of a module fills."""
    folder = tmp_path_factory.mktemp("filled")
    url = f"sqlite:///{folder / 'passes.db'}"
    if request.param == "postgresql":
        server: QuickPostgres = request.getfixturevalue("server")
        url = server.create_database(folder.name)
    store = open_store(Store(url=url), folder)
    yield store
    store.close()
