"""A control room of a gateway that wants keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_room.access.rooms import Room, open_room, write_keys


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    keys = write_keys(
        tmp_path,
        gate="",
        desk='role = "viewer"\ngroups = ["north"]',
        office='role = "administrator"',
    )
    with open_room(tmp_path, keys=keys, wants_keys=True) as opened:
        yield opened
