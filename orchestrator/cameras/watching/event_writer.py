"""Writes the events of all cameras to the store, in one thread and in few transactions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.passes import PassEvent
from orchestrator.errors import PlateError
from orchestrator.system.backoff import exponential_s

LOG = logging.getLogger(__name__)
MOST_WAITING = 1000
"""Events that wait for the store. When there are more, cameras wait and drop frames, not passes."""
BATCH = 100
"""Most events in one transaction."""
EVERY_S = 0.1
"""Shortest time from one transaction to the next: many small ones cost more than few large ones."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0


class EventStore(Protocol):
    """The part of the store that keeps events."""

    def write(self, events: Sequence[PassEvent], sinks: Sequence[Sink]) -> None: ...


class EventWriter:
    """Queues events and writes them in order.

    Args:
        store: The store. Its calls run in a thread.
        sinks: The receivers; the attribute `sinks` may be set later.
        on_written: Called after each transaction.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        store: EventStore,
        sinks: Sequence[Sink] = (),
        on_written: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.sinks = sinks
        self.written = 0
        self.last_error = ""
        self._store = store
        self._on_written = on_written
        self._sleep = sleep
        self._waiting: asyncio.Queue[PassEvent] = asyncio.Queue(MOST_WAITING)

    @property
    def waiting(self) -> int:
        """Number of events that are not in the store yet."""
        return self._waiting.qsize()

    async def put(self, event: PassEvent) -> None:
        """Queue an event. If too many wait, this waits, too."""
        await self._waiting.put(event)

    async def run(self) -> None:
        """Write events until the task is cancelled."""
        while True:
            events = [await self._waiting.get()]
            while len(events) < BATCH and not self._waiting.empty():
                events.append(self._waiting.get_nowait())
            next_s = time.monotonic() + EVERY_S
            await asyncio.shield(asyncio.ensure_future(self._write(events)))
            if self.waiting < BATCH:
                await self._sleep(max(0.0, next_s - time.monotonic()))

    async def drain(self) -> None:
        """Wait until every queued event is in the store."""
        await self._waiting.join()

    async def _write(self, events: Sequence[PassEvent]) -> None:
        """Write events; try again until the store takes them, so that none is lost."""
        failures = 0
        while True:
            try:
                await asyncio.to_thread(self._store.write, events, self.sinks)
                break
            except PlateError as error:
                self.last_error = str(error)
                LOG.error("passes cannot be kept: %s", error)
            await self._sleep(exponential_s(failures, FIRST_PAUSE_S, LONGEST_PAUSE_S))
            failures += 1
        self.last_error = ""
        self.written += len(events)
        self._on_written()
        for _ in events:
            self._waiting.task_done()
