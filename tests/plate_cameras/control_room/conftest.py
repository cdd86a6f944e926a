"""The pages of the control room, which all rooms of a test run share."""

from collections.abc import Iterator

import pytest

from orchestrator.serving.gateway.options import GatewayOptions
from plate_cameras.control_room import extension


@pytest.fixture(scope="session", autouse=True)
def _render_pages_once() -> Iterator[None]:
    """Render the pages once: that takes most of the time of opening a room."""
    with pytest.MonkeyPatch.context() as patch:
        routes = extension.page_routes(GatewayOptions())
        patch.setattr(extension, "page_routes", lambda _options: routes)
        yield
