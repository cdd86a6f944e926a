"""Waiting for conditions, independent of the machine's speed."""

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], what: str, within_s: float = 60, every_s: float = 0.01
) -> None:
    """Return when it is so; fail where it was not for so long.

    Args:
        condition: Function that tells whether the condition is true.
        what: The name of the condition.
        within_s: The longest wait.
        every_s: The pause after each look; a look at all processes takes some milliseconds.
    """
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"wanted {what}"
        time.sleep(every_s)
