"""The times of restarts: after growing pauses, and at an administrator's SIGHUP."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.host.retry import exponential_s


class Backoff:
    """Says when something that failed may be retried; it does not wait itself.

    Args:
        first_s: First pause; each further pause is twice as long.
        longest_s: Longest pause. A failure that comes more than twice this time after the last one
            starts again with the first pause.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, first_s: float, longest_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first_s, self._longest_s, self._clock = first_s, longest_s, clock
        self._failed, self._retry = float("-inf"), 0

    def is_over(self) -> bool:
        """Tell whether the pause is over, or nothing has failed."""
        return self._clock() - self._failed >= self._pause_s()

    def fail(self) -> float:
        """Start a pause; return its length in seconds."""
        now = self._clock()
        is_first = now - self._failed > 2 * self._longest_s
        self._retry = 0 if is_first else self._retry + 1
        self._failed = now
        return self._pause_s()

    def _pause_s(self) -> float:
        return exponential_s(self._retry, self._first_s, self._longest_s)


TERMINAL = Path("/dev/tty")


@contextmanager
def restart_requests() -> Iterator[Callable[[], bool]]:
    """Handle SIGHUP for the length of a `with` block; gives a function that tells whether it came.

    A process with a terminal gets SIGHUP when the terminal is closed: then it ends, as any other.
    """
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread() or _has_terminal():
        yield requested.is_set
        return

    def is_requested() -> bool:
        was_set = requested.is_set()
        requested.clear()
        return was_set

    before = signal.signal(signal.SIGHUP, lambda *_: requested.set())
    try:
        yield is_requested
    finally:
        signal.signal(signal.SIGHUP, before)


def _has_terminal() -> bool:
    try:
        TERMINAL.open("rb").close()
    except OSError:
        return False
    return True
