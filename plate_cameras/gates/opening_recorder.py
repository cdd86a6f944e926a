"""Writes what gates did to the store, beside the gates: no gate waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from plate_cameras.clocks import complete_within, is_set_within
from plate_cameras.store.errors import StoreError
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.openings.opening_log import OpeningLog

LOG = logging.getLogger(__name__)
MAX_WAITING = 10_000
"""Largest number of records that wait if neither the database nor the spool's disk can store them:
enough for hours."""
RETRY_S = 2.0


class OpeningRecorder:
    """Keeps records in memory until the store has them.

    Args:
        log: Keeps the records. Its calls run in a thread.
    """

    def __init__(self, log: OpeningLog) -> None:
        self.log = log
        self._queue: deque[GateOpening] = deque()
        self._is_news = asyncio.Event()
        self._is_closing = False

    def put(self, opening: GateOpening) -> None:
        """Queue a record. If far too many wait, the oldest is written to the program's log only."""
        if len(self._queue) >= MAX_WAITING:
            LOG.error("the record of an opening is lost: %s", self._queue.popleft())
        self._queue.append(opening)
        self._is_news.set()

    async def run(self) -> None:
        """Write records until `close` is called."""
        while not self._is_closing:
            await is_set_within(self._is_news, RETRY_S)
            self._is_news.clear()
            if not await self.flush():
                await asyncio.sleep(RETRY_S)

    async def close(self, within_s: float) -> None:
        """End `run`, and write what still waits."""
        self._is_closing = True
        self._is_news.set()
        with suppress(asyncio.TimeoutError):
            await complete_within(self.flush(), within_s)
        for opening in self._queue:
            LOG.error("the record of an opening is lost: %s", opening)

    async def flush(self) -> bool:
        """Write what waits. Return whether the store took it."""
        openings = [*self._queue]
        try:
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._write, openings)))
        except Exception as error:  # whatever it is, they were not written
            traceback = None if isinstance(error, StoreError) else error
            LOG.error("records of gates wait in memory: %s", error, exc_info=traceback)
            return False
        for opening in openings:
            with suppress(ValueError):  # lost meanwhile
                self._queue.remove(opening)
        return True

    def _write(self, openings: Sequence[GateOpening]) -> None:
        if openings:
            self.log.write(openings)
