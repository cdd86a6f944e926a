"""Supervises services: restarts dead ones, and those that should be replaced."""

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
from orchestrator.host.retry import Backoff, Retries
from orchestrator.host.subprocesses import defer_stops

TERMINAL = Path("/dev/tty")


@contextmanager
def restart_requests() -> Iterator[Callable[[], bool]]:
    """Handle SIGHUP for the length of a `with` block; gives a function that tells whether it came.

    A process with a terminal gets SIGHUP when the terminal is closed: then it ends, as any other.
    """
    request = threading.Event()
    if threading.current_thread() is not threading.main_thread() or _has_terminal():
        yield request.is_set
        return

    def is_requested() -> bool:
        was_set = request.is_set()
        request.clear()
        return was_set

    before = signal.signal(signal.SIGHUP, lambda *_: request.set())
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


START_RETRIES = Retries(times=5, first_s=1.0, longest_s=30.0)
"""Retries of a start. It may lack memory or a port that the dead service has not yet released."""
ERROR_PAUSES_S = (1.0, 60.0)
"""First and longest pause before a service is started again after an unexpected error."""
RESTART_PAUSES_S = (60.0, 3600.0)
"""First and longest pause after a failed restart of a service that needs one; two services need
much memory."""
CHECK_EVERY_S = 0.2

logger = logging.getLogger(__name__)


class Service(Protocol):
    """A service that can run and die."""

    def monitor(self) -> bool:
        """Repair what can be repaired while it runs; return False when it must be started again."""

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop it; calls in progress get this much time."""


@dataclass(frozen=True)
class ServiceSpec:
    """A service to keep running, and the functions that start and restart it.

    Attributes:
        name: The name of the service in messages.
        start: Starts it, or its successor, and waits until it is ready.
        restart: Starts a successor, hands over to it, and stops the service. Returns the
            successor, or the service itself if there can be no successor. Calls its argument again
            and again, which monitors the other services. None means that it cannot do this.
        needs_restart: Tells whether the service should be restarted while it still runs.
    """

    name: str
    start: Callable[[], Any]
    restart: Callable[[Any, Callable[[], None]], Any] | None = None
    needs_restart: Callable[[Any], bool] = lambda _service: False


def supervise(
    specs: Sequence[ServiceSpec],
    on_ready: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Start services and start each one that dies again, until interrupted.

    An unexpected error of one service is logged, and only that service is started again after a
    pause. On SIGHUP, each service that can be is restarted: clients do not notice this.

    Args:
        specs: The services in the order of their start; they are always stopped in reverse order.
        on_ready: Called when all have started; a reader of its message may interrupt at once.
        sleep: Waits for a number of seconds.

    Raises:
        ServerError: A service cannot be started, or cannot be started again.
    """
    services = [_SupervisedService(spec) for spec in specs]
    try:
        for service in services:
            service.start()
        with restart_requests() as is_requested:
            on_ready()
            while True:
                sleep(CHECK_EVERY_S)
                _check(services, is_restart=is_requested())
    finally:
        with defer_stops():
            for service in reversed(services):
                service.stop()


def _check(services: Sequence[_SupervisedService], *, is_restart: bool) -> None:
    for service in services:
        others = [candidate for candidate in services if candidate is not service]
        service.restart(partial(_monitor, others), is_requested=is_restart)
    _monitor(services)


def _monitor(services: Sequence[_SupervisedService]) -> None:
    for service in services:
        service.monitor()


class _SupervisedService:
    """A service that is kept running."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._service: Service | None = None  # None before its start, and while its start fails
        self._errors = Backoff(*ERROR_PAUSES_S)
        self._failed_restarts = Backoff(*RESTART_PAUSES_S)

    def start(self) -> None:
        self._service = self._spec.start()

    def monitor(self) -> None:
        """Monitor the service, and start it again if it died.

        Raises:
            ServerError: It cannot be started again.
        """
        if self._is_well() or not self._errors.is_over():
            return
        self.stop(timeout_s=1)
        try:
            self._service = START_RETRIES.call(self._spec.start, on_retry=_log_failed_start)
        except PlateError:
            raise
        except Exception:
            self._log_error("could not be started")
        else:
            logger.warning("%s is ready again", self._spec.name)

    def restart(self, monitor_others: Callable[[], None], *, is_requested: bool) -> None:
        """Replace the service by a successor if it needs that, or if it was requested.

        After a failure, the next restart that is not requested comes after a pause.

        Args:
            monitor_others: Monitors the other services.
            is_requested: The restart was requested.
        """
        spec, service = self._spec, self._service
        if service is None or not spec.restart:
            return
        try:
            if not is_requested and not self._needs_restart(service):
                return
            self._service = spec.restart(service, monitor_others)
        except Exception:  # the next `monitor` finds out whether the service still runs
            logger.exception("%s could not be restarted", spec.name)
        if self._service is service:
            pause_s = self._failed_restarts.fail()
            message = "%s was not restarted; the next try is in %.0f s, or at the next SIGHUP"
            logger.error(message, spec.name, pause_s)

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop it, if it runs; its error does not keep the others from being stopped."""
        service, self._service = self._service, None
        try:
            if service:
                service.stop(timeout_s=timeout_s)
        except Exception:
            logger.exception("%s could not be stopped", self._spec.name)

    def _needs_restart(self, service: Service) -> bool:
        return self._failed_restarts.is_over() and self._spec.needs_restart(service)

    def _is_well(self) -> bool:
        if self._service is None:
            return False
        try:
            is_well = self._service.monitor()
        except Exception:
            self._log_error("failed unexpectedly")
            self.stop(timeout_s=1)
            return False
        if not is_well:
            logger.error("%s died; starting again", self._spec.name)
        return is_well

    def _log_error(self, event: str) -> None:
        pause_s = self._errors.fail()
        logger.exception("%s %s; starting again in %.0f s", self._spec.name, event, pause_s)


def _log_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)
