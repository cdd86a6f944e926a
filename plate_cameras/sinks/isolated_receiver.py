"""Runs a receiver where it can hold up nobody: in a thread, event loop and threads of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from orchestrator.host.daemon_threads import DaemonThreads
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError, Receiver

MAX_THREADS = 8
"""Threads of one receiver, for name servers and disks. Further calls wait for a free one."""


class IsolatedReceiver:
    """A receiver whose code runs in a thread of its own.

    A name server, a disk or a function of another distribution may block for ever. Then only this
    sink waits, because it uses neither the event loop nor the threads of other sinks. The end of
    the process does not wait for it either.

    Attributes:
        at_once: Number of events that may be on their way.
    """

    def __init__(self, name: str, receiver: Receiver) -> None:
        self.receiver = receiver
        self.at_once: int = getattr(receiver, "at_once", 1)
        self._name = f"receiver {name}"
        self._loop: _ReceiverLoop | None = None

    async def send(self, delivery: Delivery) -> None:
        """Deliver one event, see `Receiver`."""
        await self._run(lambda: self.receiver.send(delivery))

    async def idle(self) -> None:
        """Keep the connection alive, see `Receiver`."""
        await self._run(self.receiver.idle)

    async def close(self) -> None:
        """Close the receiver, and end its thread when it is idle."""
        try:
            await self._run(self.receiver.close)
        finally:
            if self._loop:
                self._loop.end()
                self._loop = None

    async def _run(self, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._loop is None:
            self._loop = _ReceiverLoop(DaemonThreads(MAX_THREADS, self._name))
            self._loop.start(self._name)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_guard(call), self._loop))


class _ReceiverLoop(asyncio.SelectorEventLoop):
    """An event loop in a thread. Blocking calls run in given threads, also those of libraries."""

    def __init__(self, threads: Executor) -> None:
        super().__init__()
        self._threads = threads
        self._is_ending = False

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        return super().run_in_executor(executor or self._threads, func, *args)

    def start(self, name: str) -> None:
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def end(self) -> None:
        """End the thread when its present call returns."""
        self._is_ending = True
        self.call_soon_threadsafe(self.stop)

    def _work(self) -> None:
        asyncio.set_event_loop(self)
        while not self._is_ending:
            with suppress(BaseException):  # a task of the receiver that wants to end the process
                self.run_forever()
        with suppress(BaseException):
            self.run_until_complete(_cancel_others())
        self.close()


async def _guard(call: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Call a receiver. An error that would end the thread means that it has not delivered."""
    try:
        await call()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise DeliveryError(type(error).__name__) from error


async def _cancel_others() -> None:
    """End what the receiver has started and left running."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=1)
