"""Threads for the store's calls, which block: the event loop of recognition never waits."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from orchestrator.host.daemon_threads import run_for_future
from orchestrator.serving.gateway.extension import RETRY_AFTER_S, ServiceFull
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.pass_store import PassStore

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class CallKind:
    """Calls that take about as long. Each kind has threads of its own.

    Attributes:
        max_waiting: Calls that wait for a thread. They hold slots of the gateway, which
            recognition needs, too.
        timeout_s: Longest time from the request to the answer.
    """

    name: str
    threads: int
    max_waiting: int
    timeout_s: float


QUICK = CallKind("quick", threads=4, max_waiting=32, timeout_s=15.0)
"""Reads and writes of some rows."""
SEARCH = CallKind("search", threads=3, max_waiting=16, timeout_s=60.0)
"""Searches, counts and pages of exports."""
BULK = CallKind("bulk", threads=2, max_waiting=4, timeout_s=600.0)
"""Files of lists, and everything about a plate: SQLite may write its whole file again."""


CALLER: ContextVar[str] = ContextVar("CALLER", default="")
"""Name of the client for whom the running task asks the store; empty for the control room."""
SHARE = 4
"""A caller may have this fraction (1/4) of the calls that wait, but at least one."""


@dataclass(eq=False)
class _Call:
    """A call that waits for a thread or runs.

    Attributes:
        work: The function that the thread runs.
    """

    caller: str
    work: Callable[[], Any]
    result: Future[Any]


class _Pool:
    """The threads of one kind of calls, for which callers take turns.

    Each caller may have all threads but one, and a share of the calls that wait.
    """

    def __init__(self, kind: CallKind) -> None:
        self._kind = kind
        self._threads = ThreadPoolExecutor(kind.threads, thread_name_prefix=f"store-{kind.name}")
        self._queue: deque[_Call] = deque()
        self._running_calls: Counter[str] = Counter()  # calls by their callers
        self._turns: dict[str, int] = {}  # the turn in which a caller's last call began
        self._turn = 0

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        call = _Call(CALLER.get(), work, Future())
        self._join(call)
        answer = asyncio.wrap_future(call.result)
        try:
            done, _ = await asyncio.wait({answer}, timeout=self._kind.timeout_s)
        finally:
            self._leave(call)
            answer.add_done_callback(lambda future: future.cancelled() or future.exception())
        if not done:
            late = f"the database has not answered for {self._kind.timeout_s:g} s"
            raise StoreUnavailable(f"{late}; a change may still be made")
        result: ResultT = answer.result()
        return result

    def _join(self, call: _Call) -> None:
        """Start a call, or let it wait."""
        kind = self._kind
        self._queue.append(call)
        self._start()
        if call not in self._queue:
            return
        own = sum(other.caller == call.caller for other in self._queue)
        if len(self._queue) > kind.max_waiting or own > max(1, kind.max_waiting // SHARE):
            self._queue.remove(call)
            raise ServiceFull("too many requests wait for the database", RETRY_AFTER_S)

    def _leave(self, call: _Call) -> None:
        """Remove a waiting call. One that runs has its thread until it ends."""
        if call in self._queue:
            self._queue.remove(call)

    def _start(self) -> None:
        """Start calls as long as a thread is free, of the caller first that waits for longest."""
        max_of_caller = max(1, self._kind.threads - 1)
        while self._running_calls.total() < self._kind.threads:
            calls = [
                call for call in self._queue if self._running_calls[call.caller] < max_of_caller
            ]
            if not calls:
                return
            call = min(calls, key=lambda call: self._turns.get(call.caller, 0))
            self._queue.remove(call)
            self._turn += 1
            self._turns[call.caller] = self._turn
            self._running_calls[call.caller] += 1
            end = partial(_call_soon, asyncio.get_running_loop(), partial(self._end, call))
            self._threads.submit(run_for_future, call.result, call.work).add_done_callback(end)

    def _end(self, call: _Call) -> None:
        self._running_calls[call.caller] -= 1
        self._running_calls += Counter()  # drop zeros
        present = {call.caller for call in self._queue} | {*self._running_calls}
        self._turns = {name: turn for name, turn in self._turns.items() if name in present}
        self._start()

    def close(self) -> None:
        self._queue.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)


class StoreThreads:
    """Runs blocking calls of a store, a few of each kind at once.

    A few slow calls of one kind can only use up the threads of this kind, and one caller never
    uses all of them. `CALLER` names the caller.
    """

    def __init__(
        self, store: PassStore, kinds: tuple[CallKind, ...] = (QUICK, SEARCH, BULK)
    ) -> None:
        self._store = store
        self._pools = {kind.name: _Pool(kind) for kind in kinds}

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


def _call_soon(
    loop: asyncio.AbstractEventLoop, call: Callable[[], None], _done: Future[None]
) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call)
