"""Waiting for what comes by itself, however quick the machine is."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str) -> None:
    """Return when it is so; fail after a minute in which it was not."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"wanted {what}"
        time.sleep(0.01)
