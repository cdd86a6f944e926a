"""Time that a test controls: a clock, and an event loop that never waits."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass
class Clock:
    """A clock that the test moves."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


class _Selector(selectors.SelectSelector):
    """Never waits: it moves the loop's time on by the time that it was to wait."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("the loop waits for something that will never come")
        if not ready:
            self.passed_s += timeout or 0.0
        return ready


class InlineExecutor(ThreadPoolExecutor):
    """Runs calls at once: `asyncio.to_thread` needs no thread, so the order is always the same."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time` begins at 0 and passes only where all tasks wait for it."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.set_default_executor(InlineExecutor(1))

    def time(self) -> float:
        return self._virtual.passed_s


def run_virtually(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, as `asyncio.run` does, in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        leftover = asyncio.all_tasks(loop)
        for task in leftover:
            task.cancel()
        if leftover:
            loop.run_until_complete(asyncio.wait(leftover))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def virtually(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test of a coroutine function, which runs in virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtually(test(*args, **kwargs))

    return run
