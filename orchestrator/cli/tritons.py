"""The Triton of `plates serve`: started, renewed, and what becomes of its workers told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import PlateError
from orchestrator.gateway.handover import Died, Event, Moved
from orchestrator.gateway.options import Address

if TYPE_CHECKING:  # what it imports takes its time, and --help has none
    from orchestrator.server.deaths import Death
    from orchestrator.server.options import ServerOptions
    from orchestrator.server.process import Server

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tritons:
    """One Triton after the other, with the same models.

    Attributes:
        options: Of each.
        models: The repository that they serve.
        tell: Lets the gateway know of what happens.
    """

    options: ServerOptions
    models: Path
    tell: Callable[[Event], None]

    def start(self) -> Server:
        """Start one where callers on this machine look for it.

        Raises:
            PlateError: It cannot be started.
        """
        return self._start(self.options)

    def renew(self, old: Server) -> Server:
        """Put a new one in the place of another, while a third stands in for both.

        Two cannot listen on the same ports, and the gateway must have one at any time.

        Returns:
            The new one; whichever serves where another could not be started.
        """
        from orchestrator.server.local import on_free_ports

        logger.warning("Triton is restarted ...")
        serving = old
        for options in (on_free_ports(self.options), self.options):
            try:
                new = self._start(options, is_hurried=False)
            except PlateError as error:
                logger.error("%s; the Triton that runs goes on", error)
                return serving
            self.tell(moved_to(options))
            serving.stop()
            serving = new
        logger.warning("Triton was restarted")
        return serving

    def _start(self, options: ServerOptions, *, is_hurried: bool = True) -> Server:
        from orchestrator.server.process import start

        return start(options, lambda *_: self.models, self._note, is_hurried=is_hurried)

    def _note(self, death: Death) -> None:
        self.tell(Died(death.model, death.how, death.blamed))


def moved_to(options: ServerOptions) -> Moved:
    """Return where a gateway on this machine reaches a server."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    return Moved(
        triton_http=str(Address(host, options.http_port)),
        triton_grpc=str(Address(host, options.grpc_port)),
        triton_metrics=f"http://{Address(host, options.metrics_port)}/metrics",
    )
