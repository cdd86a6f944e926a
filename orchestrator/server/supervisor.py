"""Watches services, replaces the one that cannot be mended, and restarts them when asked to."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from orchestrator.children import ignore_stops
from orchestrator.errors import PlateError
from orchestrator.retries import Retries

AGAIN = Retries(times=5, first_s=1.0, longest_s=30.0)
"""A start may fail for want of memory or a port, which what died has not given back yet."""
EVERY_S = 0.2
TERMINAL = Path("/dev/tty")

logger = logging.getLogger(__name__)


class Service(Protocol):
    """What runs and can die."""

    def tend(self) -> bool:
        """Mend what can be mended while it runs; False when it must be started again."""

    def stop(self, timeout_s: float = 20.0) -> None:
        """End it; calls in work have so long."""


@dataclass(frozen=True)
class Kept:
    """A service that is to run.

    Attributes:
        name: What it is called in messages.
        start: Starts it, or its successor, and waits until it is ready.
        renew: Starts a successor, lets it take over, and stops the service; the successor is
            given back, or the service itself where there can be none. It calls what it is given
            again and again, which looks after the other services. Nobody renews it without.
        is_worn: Says that a service should be renewed.
    """

    name: str
    start: Callable[[], Any]
    renew: Callable[[Any, Callable[[], None]], Any] | None = None
    is_worn: Callable[[Any], bool] = lambda _service: False


def keep_running(kept: Sequence[Kept], tell: Callable[[], None] = lambda: None) -> None:
    """Start services and replace each that dies, until interrupted; the others are left alone.

    On SIGHUP those that can be renewed are: a restart that no caller notices.

    Args:
        kept: In the order in which they are started; they are stopped the other way round,
            however the end comes.
        tell: Says that all are there; whoever reads that may interrupt at once.

    Raises:
        ServerError: One cannot be started, or not again.
    """
    running: list[Service] = []
    try:
        for one in kept:
            running.append(one.start())
        with hear_restarts() as is_asked:
            tell()
            while True:
                time.sleep(EVERY_S)
                must_renew = is_asked()
                for place, one in enumerate(kept):
                    if one.renew and (must_renew or one.is_worn(running[place])):
                        others = partial(_tend, kept, running, but=place)
                        running[place] = one.renew(running[place], others)
                _tend(kept, running)
    finally:
        with ignore_stops():
            for service in reversed(running):
                service.stop()


@contextmanager
def hear_restarts() -> Iterator[Callable[[], bool]]:
    """Heed SIGHUP for the length of a `with` block: give what tells whether it came meanwhile.

    A process with a terminal gets it when that is closed: it ends then, as any other.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread() or _has_terminal():
        yield asked.is_set
        return

    def is_asked() -> bool:
        was_set = asked.is_set()
        asked.clear()
        return was_set

    before = signal.signal(signal.SIGHUP, lambda *_: asked.set())
    try:
        yield is_asked
    finally:
        signal.signal(signal.SIGHUP, before)


def _has_terminal() -> bool:
    try:
        TERMINAL.open("rb").close()
    except OSError:
        return False
    return True


def _tend(kept: Sequence[Kept], running: list[Service], but: int | None = None) -> None:
    """Look after services, and replace those that died; leave one to others."""
    for place, one in enumerate(kept):
        if place != but and not running[place].tend():
            running[place] = _replace(one, running[place])


def _replace(kept: Kept, dead: Service) -> Service:
    logger.error("%s died; starting again", kept.name)
    dead.stop(timeout_s=1)
    started: Service = AGAIN.call(kept.start, on_retry=_note_failed_start)
    logger.warning("%s is ready again", kept.name)
    return started


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)
