"""Calls of the outbox, which block, from coroutines that may be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from orchestrator.errors import PlateError
from orchestrator.host.daemon_threads import DaemonThreads
from plate_cameras.clocks import wait_through

LIMIT_S = 10.0
"""Longest wait for one call. A database that cannot be reached reports this earlier."""
ResultT = TypeVar("ResultT")


class OutboxTimeout(PlateError):  # noqa: N818 - a state of the outbox
    """The outbox does not answer. The result of the call is not known."""


class OutboxThread:
    """Runs calls of the outbox one after the other, in a thread of their own.

    A call that has begun ends: a cancellation of the caller is raised after it. So nobody is
    cancelled between a change of the outbox and what follows from it.
    """

    def __init__(self, name: str) -> None:
        self._threads = DaemonThreads(1, name)
        self._last: Future[Any] | None = None

    @property
    def is_busy(self) -> bool:
        """True if a call hangs whose caller no longer waits."""
        return self._last is not None and not self._last.done()

    async def run(self, call: Callable[[], ResultT], *, is_needed: bool = False) -> ResultT:
        """Run a call and return its result.

        Args:
            call: The call.
            is_needed: True if it must run, however late. Any other call does not begin when nobody
                waits for it any more.

        Raises:
            OutboxTimeout: It, or an earlier one, has not ended within the limit.
        """
        self._last = running = self._threads.submit(call)
        cancellation = await wait_through([_watch(running)], LIMIT_S)
        is_late = not running.done()
        if is_late and not is_needed:
            running.cancel()
        if cancellation:
            raise cancellation
        if is_late:
            raise OutboxTimeout(f"no answer of the database within {LIMIT_S:g} s")
        return running.result()


def _watch(running: Future[Any]) -> asyncio.Future[None]:
    """Return a future that ends with a call. Nobody cares if it ends after the event loop."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(ended.set_result, None)

    running.add_done_callback(tell)
    return ended
