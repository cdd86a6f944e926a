"""A control room of a gateway that requires keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plate_cameras.control_room.access.rooms import Room, open_with_keys


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with open_with_keys(tmp_path) as opened:
        yield opened
