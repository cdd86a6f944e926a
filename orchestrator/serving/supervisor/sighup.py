"""Handles SIGHUP, with which an administrator requests a restart of the services."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
