"""A control room of a gateway that requires keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plate_cameras.control_room.access.rooms import Room, open_with_keys
from tests.serving.gateway.conftest import pytest_pyfunc_call as pytest_pyfunc_call


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with open_with_keys(tmp_path) as opened:
        yield opened
