"""A receiver of messages on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.plate_cameras.sinks.inbox import Inbox


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    pytest.importorskip("apprise", reason="wanted apprise; make cameras installs it")
    with Inbox() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
