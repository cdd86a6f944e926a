"""Threads for the store's calls, which block: the event loop of recognition never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.gateway.errors import RETRY_AFTER_S, ServiceFull

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class CallKind:
    """Calls that take about as long. Each kind has threads of its own.

    Attributes:
        name: Name of the kind, for the threads.
        threads: Calls at once.
        most_waiting: Calls that wait for a thread. They hold slots of the gateway, which
            recognition needs, too.
        timeout_s: Longest time from the request to the answer.
    """

    name: str
    threads: int
    most_waiting: int
    timeout_s: float


QUICK = CallKind("quick", threads=4, most_waiting=32, timeout_s=15.0)
"""Reads and writes of some rows."""
SEARCH = CallKind("search", threads=3, most_waiting=16, timeout_s=60.0)
"""Searches, counts and pages of exports."""
BULK = CallKind("bulk", threads=2, most_waiting=4, timeout_s=600.0)
"""Files of lists, and everything about a plate: SQLite may write its whole file again."""


class _Pool:
    """The threads of one kind of calls."""

    def __init__(self, kind: CallKind) -> None:
        self._kind = kind
        self._threads = ThreadPoolExecutor(kind.threads, thread_name_prefix=f"store-{kind.name}")
        self._open = 0

    async def run(self, call: Callable[[], ResultT]) -> ResultT:
        kind = self._kind
        if self._open >= kind.threads + kind.most_waiting:
            raise ServiceFull("too many requests wait for the database", RETRY_AFTER_S)
        running = self._threads.submit(call)
        self._open += 1
        loop = asyncio.get_running_loop()
        # A call that nobody waits for any more has its thread until it ends.
        running.add_done_callback(lambda _: _call_soon(loop, self._count_end))
        answer = asyncio.wrap_future(running)
        try:
            done, _ = await asyncio.wait({answer}, timeout=kind.timeout_s)
        finally:
            running.cancel()  # unless it runs
            answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        if not done:
            late = f"the database has not answered for {kind.timeout_s:g} s"
            raise StoreUnavailable(f"{late}; a change may still be made")
        return answer.result()

    def _count_end(self) -> None:
        self._open -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class StoreThreads:
    """Runs blocking calls of a store, a few of each kind at once.

    A few slow calls of one kind use up the threads of that kind alone.

    Args:
        store: The store.
        kinds: The kinds of calls.
    """

    def __init__(
        self, store: PassStore, kinds: tuple[CallKind, ...] = (QUICK, SEARCH, BULK)
    ) -> None:
        self._store = store
        self._pools = {one.name: _Pool(one) for one in kinds}

    async def run(self, call: Callable[[], ResultT], kind: CallKind = QUICK) -> ResultT:
        """Return what a call returns.

        Raises:
            ServiceFull: Too many calls of this kind wait already.
            StoreUnavailable: The call has not ended in time. It goes on.
            StoreError: The store cannot be used.
        """

        def run_prepared() -> ResultT:
            self._store.writer.prepare()  # the tables, if the database was away at the start
            return call()

        return await self._pools[kind.name].run(run_prepared)

    def close(self) -> None:
        """Start no more calls."""
        for pool in self._pools.values():
            pool.close()


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call)
