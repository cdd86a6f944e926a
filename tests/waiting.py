"""Waiting for what comes by itself, however quick the machine is."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str, within_s: float = 60) -> None:
    """Return when it is so; fail where it was not for so long."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"wanted {what}"
        time.sleep(0.01)
