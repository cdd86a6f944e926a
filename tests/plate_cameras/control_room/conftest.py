"""The pages of the control room, which all rooms of a test run share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from orchestrator.serving.gateway.http.page import routes as first_page
from plate_cameras.control_room import extension


@pytest.fixture(scope="session", autouse=True)
def _render_pages_once() -> Iterator[None]:
    """Render the pages once: that takes most of the time of opening a room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "page_routes", cache(extension.page_routes))
        patch.setattr(first_page, "read_texts", cache(first_page.read_texts))
        yield
