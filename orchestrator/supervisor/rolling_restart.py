"""The Triton of `plates serve`: starts it, renews it, and reports the ends of its workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import PlateError
from orchestrator.protocol.gateway_events import Event, TritonMoved, WorkerDied, WorkersReplaced
from orchestrator.system.retry import Retries

if TYPE_CHECKING:  # its imports take long, and --help does not need them
    from orchestrator.supervisor.crash_report import ModelReloaded, WorkerDeath
    from orchestrator.supervisor.options import ServerOptions
    from orchestrator.supervisor.triton_server import Server

AGAIN = Retries(times=3, first_s=1.0, longest_s=5.0)
"""Retries of a start: on busy cores Triton itself sometimes fails to start."""

logger = logging.getLogger(__name__)


class TritonDied(PlateError):  # noqa: N818 - says what happened, not what failed
    """The serving Triton died, so its successor must not wait for free cores any longer."""


@dataclass(frozen=True)
class RollingTriton:
    """A sequence of Tritons with the same models.

    Attributes:
        options: Options of each Triton.
        models: The repository that they serve.
        keeps_ports: Clients expect it on its ports; a gateway finds it on any port.
        tell: Reports events to the gateway.
    """

    options: ServerOptions
    models: Path
    tell: Callable[[Event], None]
    keeps_ports: bool = True

    def start(self) -> Server:
        """Start a Triton on the ports where clients on this machine expect it.

        Raises:
            PlateError: It cannot be started.
        """
        started = self._start(self.options)
        self.tell(moved_to(self.options))  # a replacement may have died elsewhere
        return started

    def renew(self, old: Server, others: Callable[[], None]) -> Server:
        """Replace a Triton by a new one; the old one serves until the new one is ready.

        Two cannot listen on the same ports. If the ports must stay the same, a third Triton serves
        in between.

        Args:
            old: The old Triton.
            others: Looks after the other services; called again and again.

        Returns:
            The new one; if a start failed, the one that served last.
        """
        logger.warning("Triton is restarted ...")
        serving = old
        begun: list[Server] = []  # those that run, beside the old one
        try:
            for options in self._list_stays():
                begin = partial(self._start, options, partial(_look_after, serving, others))
                before, serving = serving, AGAIN.call(begin, on_retry=_note_failed_start)
                begun.append(serving)
                self.tell(moved_to(options))
                before.retire(meanwhile=partial(_look_after, serving, others))
                begun = [serving]
        except PlateError as error:
            logger.error("%s; Triton is not restarted", error)
            return serving
        except BaseException:  # only this function knows those that it started
            for one in begun:
                one.stop()
            raise
        logger.warning("Triton was restarted")
        return serving

    def _list_stays(self) -> Iterator[ServerOptions]:
        """Yield the options of the next Tritons; the last has the fixed ports, if any are fixed."""
        from orchestrator.supervisor.local_server import on_free_ports

        yield on_free_ports(self.options)
        if self.keeps_ports:
            yield self.options

    def _start(self, options: ServerOptions, meanwhile: Callable[[], None] | None = None) -> Server:
        from orchestrator.supervisor.triton_server import start

        return start(options, lambda *_: self.models, self._note, meanwhile=meanwhile)

    def _note(self, event: WorkerDeath | ModelReloaded) -> None:
        from orchestrator.supervisor.crash_report import WorkerDeath

        if isinstance(event, WorkerDeath):
            self.tell(WorkerDied(event.model, event.how, event.blamed, event.is_last))
        else:
            self.tell(WorkersReplaced(event.model))


def _look_after(serving: Server, others: Callable[[], None]) -> None:
    """Keep the serving Triton alive while its successor starts or its predecessor ends.

    Raises:
        Gone: The serving Triton died.
    """
    others()
    if not serving.tend():
        raise TritonDied("the Triton that served died meanwhile")


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; the Triton that runs goes on, and another is tried", error)


def moved_to(options: ServerOptions) -> TritonMoved:
    """Return the addresses at which a gateway on this machine reaches a server."""
    return TritonMoved(options.http_url, options.grpc_url, options.metrics_url)
