"""A camera over HTTP."""

from collections.abc import Iterator

import pytest

from tests.plate_cameras.clips import street
from tests.plate_cameras.servers import HttpCamera, http_camera


@pytest.fixture
def http() -> Iterator[HttpCamera]:
    with http_camera(street(125)) as camera:
        yield camera
