"""The supervisor of services: replaces those that cannot be repaired, and restarts on request."""

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

from orchestrator.errors import PlateError
from orchestrator.supervisor.backoff import Backoff
from orchestrator.system.retry import Retries
from orchestrator.system.subprocesses import ignore_stops

AGAIN = Retries(times=5, first_s=1.0, longest_s=30.0)
"""Retries of a start. It may lack memory or a port that the dead service has not yet released."""
PAUSES_S = (1.0, 60.0)
"""First and longest pause before a service is restarted after an unexpected error."""
RENEWALS_S = (60.0, 3600.0)
"""First and longest pause after a failed renewal of a worn service: two services need much
memory."""
EVERY_S = 0.2
TERMINAL = Path("/dev/tty")

logger = logging.getLogger(__name__)


class Service(Protocol):
    """A service that can run and die."""

    def tend(self) -> bool:
        """Repair what can be repaired while it runs; return False when it must be restarted."""

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop it; calls in progress get this much time."""


@dataclass(frozen=True)
class KeptService:
    """A service to keep running, and how to start it.

    Attributes:
        name: The name of the service in messages.
        start: Starts it, or its successor, and waits until it is ready.
        renew: Starts a successor, hands over to it, and stops the service. Returns the successor,
            or the service itself if there can be no successor. Calls its argument again and again,
            which looks after the other services. Without this function the service is not renewed.
        is_worn: Tells whether the service should be renewed.
    """

    name: str
    start: Callable[[], Any]
    renew: Callable[[Any, Callable[[], None]], Any] | None = None
    is_worn: Callable[[Any], bool] = lambda _service: False


def keep_running(kept: Sequence[KeptService], tell: Callable[[], None] = lambda: None) -> None:
    """Start services and restart each one that dies, until interrupted; the others are not touched.

    An unexpected error of one service is logged, and only that service is restarted after a pause.
    On SIGHUP, every service that can be renewed is renewed: clients do not notice this restart.

    Args:
        kept: The services in the order of their start; they are always stopped in reverse order.
        tell: Called when all have started; a reader of its message may interrupt at once.

    Raises:
        ServerError: A service cannot be started, or cannot be restarted.
    """
    everybody = [_Watched(one) for one in kept]
    try:
        for one in everybody:
            one.start()
        with hear_restarts() as is_asked:
            tell()
            while True:
                time.sleep(EVERY_S)
                must_renew = is_asked()
                for one in everybody:
                    others = [other for other in everybody if other is not one]
                    one.renew(partial(_tend, others), is_asked=must_renew)
                _tend(everybody)
    finally:
        with ignore_stops():
            for one in reversed(everybody):
                one.stop()


@contextmanager
def hear_restarts() -> Iterator[Callable[[], bool]]:
    """Handle SIGHUP for the length of a `with` block; gives a function that tells whether it came.

    A process with a terminal gets SIGHUP when the terminal is closed: then it ends, as any other.
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


def _tend(everybody: Sequence[_Watched]) -> None:
    for one in everybody:
        one.tend()


class _Watched:
    """A service that is kept running."""

    def __init__(self, kept: KeptService) -> None:
        self._kept = kept
        self._service: Service | None = None  # None before its start, and while its start fails
        self._pause = Backoff(*PAUSES_S)
        self._renewals = Backoff(*RENEWALS_S)

    def start(self) -> None:
        self._service = self._kept.start()

    def tend(self) -> None:
        """Look after the service, and restart it if it died.

        Raises:
            ServerError: It cannot be restarted.
        """
        if self._is_well() or not self._pause.is_over():
            return
        self.stop(timeout_s=1)
        try:
            self._service = AGAIN.call(self._kept.start, on_retry=_note_failed_start)
        except PlateError:
            raise
        except Exception:
            self._note_error("could not be started")
        else:
            logger.warning("%s is ready again", self._kept.name)

    def renew(self, others: Callable[[], None], *, is_asked: bool) -> None:
        """Replace the service by a successor if it is worn, or if that was asked for.

        After a failed renewal, a worn service is renewed only after a pause, unless asked for.

        Args:
            others: Looks after the other services.
            is_asked: The renewal was asked for.
        """
        kept, service = self._kept, self._service
        if service is None or not kept.renew:
            return
        try:
            if is_asked or (self._renewals.is_over() and kept.is_worn(service)):
                self._service = kept.renew(service, others)
            else:
                return
        except Exception:  # the next `tend` finds out whether the service still runs
            logger.exception("%s could not be renewed", kept.name)
        if self._service is service:
            pause_s = self._renewals.fail()
            message = "%s was not renewed; the next try is in %.0f s, or at the next SIGHUP"
            logger.error(message, kept.name, pause_s)

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop it, if it runs; its error does not keep the others from being stopped."""
        service, self._service = self._service, None
        try:
            if service:
                service.stop(timeout_s=timeout_s)
        except Exception:
            logger.exception("%s could not be stopped", self._kept.name)

    def _is_well(self) -> bool:
        if self._service is None:
            return False
        try:
            is_well = self._service.tend()
        except Exception:
            self._note_error("failed unexpectedly")
            self.stop(timeout_s=1)
            return False
        if not is_well:
            logger.error("%s died; starting again", self._kept.name)
        return is_well

    def _note_error(self, what: str) -> None:
        pause_s = self._pause.fail()
        logger.exception("%s %s; starting again in %.0f s", self._kept.name, what, pause_s)


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)
