"""Watches a server and replaces it when it, or one of its workers, dies."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from orchestrator.errors import PlateError
from orchestrator.retries import Retries
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import Server, start

AGAIN = Retries(times=5, first_s=1.0, longest_s=30.0)
"""A start may fail for want of memory or a port, which what died has not given back yet."""

logger = logging.getLogger(__name__)


def keep_running(
    server: Server, options: ServerOptions, tell: Callable[[], None] = lambda: None
) -> None:
    """Watch a server and replace it when it or one of its workers dies, until interrupted.

    Args:
        server: It is stopped in the end, however that comes.
        options: How it was started, and its successors will be.
        tell: Says that the server is there; whoever reads that may interrupt at once.

    Raises:
        ServerError: It cannot be started again.
    """
    try:
        tell()
        while True:
            time.sleep(0.5)
            if not server.is_whole():
                logger.error("the server or one of its workers died; starting again")
                server.stop(timeout_s=1)
                server = AGAIN.call(lambda: start(options), on_retry=_note_failed_start)
                logger.warning("the server is ready again")
    finally:
        server.stop()


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)
