"""A control room of a gateway that requires keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plate_cameras.control_room.access.rooms import HttpRoom, open_with_keys


@pytest.fixture
def room(tmp_path: Path) -> Iterator[HttpRoom]:
    with open_with_keys(tmp_path) as new_room:
        yield new_room


@pytest.fixture(scope="module")
def unchanged_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpRoom]:
    """A room with keys, for tests that change nothing."""
    with open_with_keys(tmp_path_factory.mktemp("room")) as new_room:
        yield new_room
