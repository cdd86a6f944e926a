"""A control room for each module of tests, and pages of it in the browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.control_room.rooms import RunningRoom, fill, run_room


@pytest.fixture(scope="module")
def room(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRoom]:
    """A control room whose callers are all the administrator `local`."""
    with run_room(tmp_path_factory.mktemp("room")) as running_room:
        fill(running_room.store)
        yield running_room


@pytest.fixture(scope="module")
def url(room: RunningRoom) -> str:
    """Address of the control room, for `open_page`."""
    return room.url


@pytest.fixture
def open_quiet(open_page: Open) -> Open:
    """Opens pages without animations."""

    def open_page_quietly(path: str, **options: Any) -> Any:
        return open_page(path, **{"reduced_motion": "reduce", **options})

    return open_page_quietly
