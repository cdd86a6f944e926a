"""Watches services and replaces the one that, or a process of which, dies."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.children import ignore_stops
from orchestrator.errors import PlateError
from orchestrator.retries import Retries

AGAIN = Retries(times=5, first_s=1.0, longest_s=30.0)
"""A start may fail for want of memory or a port, which what died has not given back yet."""

logger = logging.getLogger(__name__)


class Service(Protocol):
    """What runs and can die."""

    def is_whole(self) -> bool:
        """Tell whether it runs with all of its processes."""

    def stop(self, timeout_s: float = 20.0) -> None:
        """End it; calls in work have so long."""


@dataclass(frozen=True)
class Kept:
    """A service that is to run.

    Attributes:
        name: What it is called in messages.
        start: Starts it, or its successor, and waits until it is ready.
    """

    name: str
    start: Callable[[], Service]


def keep_running(kept: Sequence[Kept], tell: Callable[[], None] = lambda: None) -> None:
    """Start services and replace each that dies, until interrupted; the others are left alone.

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
        tell()
        while True:
            time.sleep(0.5)
            for place, one in enumerate(kept):
                if not running[place].is_whole():
                    running[place] = _replace(one, running[place])
    finally:
        with ignore_stops():
            for service in reversed(running):
                service.stop()


def _replace(kept: Kept, dead: Service) -> Service:
    logger.error("%s or one of its processes died; starting again", kept.name)
    dead.stop(timeout_s=1)
    started = AGAIN.call(kept.start, on_retry=_note_failed_start)
    logger.warning("%s is ready again", kept.name)
    return started


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)
