"""Rooms of tests: an empty one, and one with passes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plate_cameras.control_room.rest.rooms import CAMERAS, RestRoom, open_room
from tests.plate_cameras.store.conftest import server, sqlite_template
from tests.plate_cameras.store.stored_events import make_event

__all__ = ["server", "sqlite_template"]


@pytest.fixture
def room(sqlite_template: Path, tmp_path: Path) -> Iterator[RestRoom]:
    shutil.copy(sqlite_template, tmp_path / "passes.db")
    with open_room(tmp_path) as new_room:
        yield new_room


@pytest.fixture
def filled_room(room: RestRoom) -> RestRoom:
    """Return a room with a list, a hit of it at the gate, and a pass in the yard."""
    room.store.lists.create("residents", "house 5")
    room.store.lists.import_csv("residents", "text,note\nA123BC77,flat 12\n")
    room.store.configure(CAMERAS)
    events = [make_event("gate-1"), make_event("yard-1", text="B777BB77", camera="yard")]
    room.store.write(events, [])
    return room
