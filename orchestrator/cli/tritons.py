"""The Triton of `plates serve`: started, renewed, and what becomes of its workers told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import PlateError
from orchestrator.gateway.handover import Died, Event, Moved, Renewed
from orchestrator.retries import Retries

if TYPE_CHECKING:  # what it imports takes its time, and --help has none
    from orchestrator.server.deaths import Death, Renewal
    from orchestrator.server.options import ServerOptions
    from orchestrator.server.process import Server

AGAIN = Retries(times=3, first_s=1.0, longest_s=5.0)
"""A start on cores that others keep busy fails now and then, in Triton itself."""

logger = logging.getLogger(__name__)


class Gone(PlateError):  # noqa: N818 - says what happened, not what failed
    """What serves has died: a successor that leaves the cores to it would come late."""


@dataclass(frozen=True)
class Tritons:
    """One Triton after the other, with the same models.

    Attributes:
        options: Of each.
        models: The repository that they serve.
        keeps_ports: Callers look for it at its ports: a gateway finds it at any.
        tell: Lets the gateway know of what happens.
    """

    options: ServerOptions
    models: Path
    tell: Callable[[Event], None]
    keeps_ports: bool = True

    def start(self) -> Server:
        """Start one where callers on this machine look for it.

        Raises:
            PlateError: It cannot be started.
        """
        started = self._start(self.options)
        self.tell(moved_to(self.options))  # from where another stood in, if it died there
        return started

    def renew(self, old: Server, others: Callable[[], None]) -> Server:
        """Put a new one in the place of another, which serves until the new one does.

        Two cannot listen on the same ports. Where the ports must stay the same, a third stands in
        for both.

        Args:
            old: The other one.
            others: Looks after the services beside it; called again and again.

        Returns:
            The new one; whichever served last where another could not be started.
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
        except BaseException:  # nobody else knows of those that were begun here
            for one in begun:
                one.stop()
            raise
        logger.warning("Triton was restarted")
        return serving

    def _list_stays(self) -> Iterator[ServerOptions]:
        """Give where the next ones listen; on its own ports again at last, if it keeps them."""
        from orchestrator.server.local import on_free_ports

        yield on_free_ports(self.options)
        if self.keeps_ports:
            yield self.options

    def _start(self, options: ServerOptions, meanwhile: Callable[[], None] | None = None) -> Server:
        from orchestrator.server.process import start

        return start(options, lambda *_: self.models, self._note, meanwhile=meanwhile)

    def _note(self, event: Death | Renewal) -> None:
        from orchestrator.server.deaths import Death

        if isinstance(event, Death):
            self.tell(Died(event.model, event.how, event.blamed, event.is_last))
        else:
            self.tell(Renewed(event.model))


def _look_after(serving: Server, others: Callable[[], None]) -> None:
    """Keep what serves alive while its successor starts, or the one before it ends.

    Raises:
        Gone: It died.
    """
    others()
    if not serving.tend():
        raise Gone("the Triton that served died meanwhile")


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; the Triton that runs goes on, and another is tried", error)


def moved_to(options: ServerOptions) -> Moved:
    """Return where a gateway on this machine reaches a server."""
    return Moved(options.http_url, options.grpc_url, options.metrics_url)
