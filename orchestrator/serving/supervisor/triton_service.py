"""The Triton of `plates serve`: starts it, and restarts it while it serves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orchestrator.errors import PlateError, SettingsError
from orchestrator.host.retry import Retries
from orchestrator.serving.protocol.gateway_events import Event, TritonMoved
from orchestrator.serving.supervisor.local_server import on_free_ports
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.preflight import check_shared_memory
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import start

START_RETRIES = Retries(times=3, first_s=1.0, longest_s=5.0)
"""Retries of a start: on busy cores Triton itself sometimes fails to start."""

logger = logging.getLogger(__name__)


class TritonDied(PlateError):  # noqa: N818 - says what happened, not what failed
    """The serving Triton died, so its successor must not wait for free cores any longer."""


@dataclass(frozen=True)
class TritonService:
    """A sequence of Tritons with the same models, each the successor of the one before.

    Attributes:
        models: The repository that they serve.
        notify: Reports events to the gateway.
        keeps_ports: Clients expect it on its ports; a gateway finds it on any port.
    """

    options: ServerOptions
    models: Path
    notify: Callable[[Event], None]
    keeps_ports: bool = True

    def start(self) -> Server:
        """Start a Triton on the ports where clients on this machine expect it.

        Raises:
            PlateError: It cannot be started.
        """
        server = self._start(self.options)
        self.notify(locate(self.options))  # the one before may have died on other ports
        return server

    def restart(self, old: Server, monitor_others: Callable[[], None]) -> Server:
        """Replace a Triton by a new one; the old one serves until the new one is ready.

        Two cannot listen on the same ports. If the ports must stay the same, a third Triton serves
        in between.

        Args:
            old: The old Triton.
            monitor_others: Monitors the other services; called again and again.

        Returns:
            The new Triton; if a start failed, the Triton that served last.
        """
        logger.warning("Triton is restarted ...")
        serving = old
        servers: list[Server] = []  # those that run, beside the old one
        try:
            for options in self._list_places():
                on_wait = partial(_monitor, serving, monitor_others)
                begin = partial(self._start_beside, options, on_wait)
                before, serving = serving, START_RETRIES.call(begin, on_retry=_log_failed_start)
                servers.append(serving)
                self.notify(locate(options))
                before.drain(on_wait=partial(_monitor, serving, monitor_others))
                servers = [serving]
        except PlateError as error:
            logger.error("%s; Triton is not restarted", error)
            return serving
        except BaseException:  # only this function knows those that it started
            for server in servers:
                server.stop()
            raise
        logger.warning("Triton was restarted")
        return serving

    def _list_places(self) -> Iterator[ServerOptions]:
        """Yield the options of the next Tritons; the last has the fixed ports, if any are fixed."""
        yield on_free_ports(self.options)
        if self.keeps_ports:
            yield self.options

    def _start_beside(self, options: ServerOptions, on_wait: Callable[[], None]) -> Server:
        check_shared_memory(options)  # two need more of it than one
        return self._start(options, on_wait)

    def _start(self, options: ServerOptions, on_wait: Callable[[], None] | None = None) -> Server:
        if not self.models.is_dir():  # no retry helps
            raise SettingsError(f"{self.models}: somebody removed it while the service ran")
        return start(options, lambda *_: self.models, self.notify, on_wait=on_wait)


def _monitor(serving: Server, monitor_others: Callable[[], None]) -> None:
    """Keep the serving Triton alive while its successor starts or its predecessor ends.

    Raises:
        TritonDied: The serving Triton died.
    """
    monitor_others()
    if not serving.monitor():
        raise TritonDied("the Triton that served died meanwhile")


def _log_failed_start(error: PlateError) -> None:
    logger.error("%s; the Triton that runs goes on, and another is tried", error)


def locate(options: ServerOptions) -> TritonMoved:
    """Return the addresses at which a gateway on this machine reaches a server."""
    return TritonMoved(options.http_url, options.grpc_url, options.metrics_url)
