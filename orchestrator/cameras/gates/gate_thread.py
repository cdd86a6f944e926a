"""Runs the gates in a thread with an event loop of its own.

So a barrier waits neither for the tracking of other cameras, nor for the store, nor for names that
the system's resolver does not find: each of them has its own threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.cameras.configuration import Configuration
from orchestrator.cameras.gates.controller import GateController
from orchestrator.cameras.gates.hold_offs import HoldOffs
from orchestrator.cameras.gates.known_lists import KnownLists
from orchestrator.cameras.gates.opening_recorder import OpeningRecorder
from orchestrator.cameras.gates.registry import make_relay
from orchestrator.cameras.gates.status import GateStatus
from orchestrator.cameras.passes import PassEvent
from orchestrator.cameras.store.gate_openings import GateOpening
from orchestrator.cameras.store.pass_store import PassStore

LOG = logging.getLogger(__name__)
THREADS = 32
"""Threads for names that are resolved, for packages that are imported, and for the store."""
FIRST_READ_S = 5.0
"""Longest wait for the lists at the start."""
LAST_WRITE_S = 10.0
"""Longest wait for the last records at the end."""


class GateThread:
    """The gates of one configuration, beside the caller's event loop.

    Args:
        store: The lists, and the place where openings are kept.
        tell: Takes what a gate did, in the thread of the gates.
    """

    def __init__(self, store: PassStore, tell: Callable[[GateOpening], None]) -> None:
        self._store = store
        self._tell = tell
        self._running: _Running | None = None

    @property
    def statuses(self) -> tuple[GateStatus, ...]:
        """The state of each gate now."""
        return self._running.controller.statuses if self._running else ()

    async def apply(self, configuration: Configuration) -> None:
        """Follow the gates of a configuration. The thread starts with the first gate.

        Raises:
            SettingsError: The settings of a gate are wrong; then nothing changes.
            ExtraError: A gate needs a package that is not installed; then nothing changes.
        """
        if self._running is None:
            if not configuration.gates:
                return
            self._running = await asyncio.to_thread(_start, self._store, self._tell)
        await self._running.call(self._running.apply(configuration))

    def offer(self, event: PassEvent) -> None:
        """Look at an event. This returns at once."""
        if running := self._running:
            running.loop.call_soon_threadsafe(running.controller.offer, event)

    async def stop(self) -> None:
        """Stop all gates, and write the last records."""
        running, self._running = self._running, None
        if running:
            running.loop.call_soon_threadsafe(running.stopped.set)
            await asyncio.to_thread(running.thread.join)


@dataclass
class _Running:
    """The parts of the thread."""

    thread: threading.Thread
    loop: asyncio.AbstractEventLoop
    controller: GateController
    lists: KnownLists
    recorder: OpeningRecorder
    stopped: asyncio.Event

    async def call(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine in the thread, and wait for it in the caller's loop."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self.loop))

    async def apply(self, configuration: Configuration) -> None:
        changed = self.controller.changed(configuration.gates)
        relays = {one.name: await asyncio.to_thread(make_relay, one) for one in changed}
        await self.controller.apply(configuration, relays)

    async def run(self) -> None:
        """Keep the lists and the records, until the thread is to end."""
        reading = asyncio.create_task(self.lists.run())
        writing = asyncio.create_task(self.recorder.run())
        await self.stopped.wait()
        await self.controller.stop()
        reading.cancel()
        await self.recorder.close(LAST_WRITE_S)
        await asyncio.wait({reading, writing})


def _start(store: PassStore, tell: Callable[[GateOpening], None]) -> _Running:
    """Start the thread; return when its loop runs and the lists were read or cannot be."""
    started: Future[_Running] = Future()

    async def run() -> None:
        running = await _open(store, tell, thread)
        started.set_result(running)
        await running.run()

    def main() -> None:
        try:
            asyncio.run(run())
        except Exception as error:
            if started.done():
                LOG.exception("the gates have stopped")
            else:
                started.set_exception(error)

    thread = threading.Thread(target=main, name="gates", daemon=True)
    thread.start()
    return started.result()


async def _open(
    store: PassStore, tell: Callable[[GateOpening], None], thread: threading.Thread
) -> _Running:
    """Make the parts in the thread's loop."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    hold_offs, recorder = HoldOffs(), OpeningRecorder(store.openings)
    lists = KnownLists(store, hold_offs)
    controller = GateController(lists, recorder, hold_offs, tell)
    lists.on_change = controller.reconsider
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(lists.read(), FIRST_READ_S)
    return _Running(thread, loop, controller, lists, recorder, asyncio.Event())
