"""Writes the events of all cameras to the store, in one thread and in few transactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from orchestrator.errors import ServerError
from orchestrator.host.retry import exponential_s
from plate_cameras.background_tasks import Note, describe, make_note
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Sink
from plate_cameras.passes import PassEvent
from plate_cameras.store.pass_store import PassStore

LOG = logging.getLogger(__name__)
MAX_WAITING_EVENTS = 1000
"""Events that wait for the store. When there are more, cameras wait and drop frames, not passes."""
MAX_BATCH_EVENTS = 100
"""Largest number of events in one transaction."""
EVERY_S = 0.1
"""Shortest time from one transaction to the next: many small ones cost more than few large ones."""
EFFECT = "passes cannot be kept"
"""The consequence of a failure, for its message."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 5.0
"""Pauses after a failed transaction; they double."""


class EventWriter:
    """Queues events and writes them in order. After any exception of the store, it tries again.

    Args:
        store: The store. Its calls run in a thread.
        sinks: The receivers; the attribute `sinks` may be set later.
        on_written: Called after each transaction.
        sleep: Waits for a number of seconds.
        note: Takes the outcome of each attempt; failures are logged without it.

    Attributes:
        waiting: Number of events that are not in the store yet.
        written: Number of those that are. They are written in the order of their arrival.
    """

    def __init__(
        self,
        store: PassStore,
        sinks: Sequence[Sink] = (),
        on_written: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        note: Note | None = None,
    ) -> None:
        self.sinks = sinks
        self.written = self.waiting = 0
        self.last_error = ""
        self._store = store
        self._on_written = on_written
        self._sleep = sleep
        self._note = note or make_note(EFFECT)
        self._queue: asyncio.Queue[PassEvent] = asyncio.Queue(MAX_WAITING_EVENTS)
        self._has_ended = asyncio.Event()

    @property
    def accepted(self) -> int:
        """Number of all events that came."""
        return self.written + self.waiting

    async def put(self, event: PassEvent) -> None:
        """Queue an event. If too many wait, this waits, too.

        Raises:
            ServerError: The writer has ended, and there is no place.
        """
        self.waiting += 1
        if not self._queue.full():
            self._queue.put_nowait(event)
        elif not await self._waits_for(self._queue.put(event)):
            raise ServerError("passes are not kept any more: the writer has ended")

    async def run(self) -> None:
        """Write events until the task is cancelled."""
        self._has_ended.clear()
        try:
            while True:
                await self._write_next()
        finally:
            self._has_ended.set()

    async def drain(self) -> None:
        """Wait until every queued event is in the store, or the writer has ended."""
        await self._waits_for(self._queue.join())

    async def _write_next(self) -> None:
        events = [await self._queue.get()]
        while len(events) < MAX_BATCH_EVENTS and not self._queue.empty():
            events.append(self._queue.get_nowait())
        next_s = steady_s() + EVERY_S
        await asyncio.shield(asyncio.ensure_future(self._write(events)))
        if self._queue.qsize() < MAX_BATCH_EVENTS:
            await self._sleep(max(0.0, next_s - steady_s()))

    async def _write(self, events: Sequence[PassEvent]) -> None:
        """Write events; try again until the store takes them, so that none is lost."""
        failures = 0
        while True:
            try:
                await asyncio.to_thread(self._store.write, events, self.sinks)
                break
            except Exception as error:  # a disk, a database, or no thread: all may come back
                self.last_error = describe(error)
                self._note(error)
            await self._sleep(exponential_s(failures, FIRST_PAUSE_S, MAX_PAUSE_S))
            failures += 1
        self.last_error = ""
        self._note(None)
        self.written += len(events)
        self.waiting -= len(events)
        for _ in events:
            self._queue.task_done()
        try:
            self._on_written()
        except Exception:
            LOG.exception("the sinks were not woken")

    async def _waits_for(self, coroutine: Coroutine[Any, Any, None]) -> bool:
        """Wait for the end of a coroutine. Return false if the writer ends first."""
        task = asyncio.ensure_future(coroutine)
        end = asyncio.ensure_future(self._has_ended.wait())
        try:
            await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
            return task.done()
        finally:
            task.cancel()
            end.cancel()
