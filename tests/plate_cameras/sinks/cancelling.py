"""Cancels a task at its n-th wait, for each n, to find faults of cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from typing import Any, TypeVar

SiteT = TypeVar("SiteT")
MAX_WAITS = 2000


class Canceller:
    """Counts the waits of watched tasks, and cancels the task whose wait is number `at`."""

    def __init__(self, at: int) -> None:
        self.at, self.waits = at, 0

    async def watch(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Await a coroutine; its waits count."""
        return await _Steps(coroutine, self)

    def make_task(self, loop: Any, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        """Make a task whose waits count, as a task factory."""
        return asyncio.Task(self.watch(coroutine), loop=loop, **options)

    def count(self) -> None:
        self.waits += 1
        if self.waits == self.at:
            task = asyncio.current_task()
            assert task
            task.cancel()


class _Steps:
    def __init__(self, coroutine: Coroutine[Any, Any, Any], canceller: Canceller) -> None:
        self._coroutine, self._canceller = coroutine, canceller

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._coroutine.__await__()
        error: BaseException | None = None
        while True:
            try:
                step = steps.throw(error) if error else steps.send(None)
            except StopIteration as end:
                return end.value
            self._canceller.count()
            try:
                yield step
                error = None
            except BaseException as failure:
                error = failure


def cancel_everywhere(
    make: Callable[[], SiteT],
    act: Callable[[SiteT], Coroutine[Any, Any, Any]],
    *,
    in_any_task: bool,
) -> Iterator[tuple[int, SiteT]]:
    """Run a coroutine function again and again, each time with a cancellation one wait later.

    Args:
        make: Creates the function's argument for each run.
        act: The function.
        in_any_task: The waits of the tasks that it starts count as well.

    Yields:
        The number of the wait, and what `make` returned, after each run with a cancellation.
    """

    async def run(site: SiteT, canceller: Canceller) -> None:
        task = asyncio.create_task(canceller.watch(act(site)))
        if in_any_task:
            asyncio.get_running_loop().set_task_factory(canceller.make_task)
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 30)

    for at in range(1, MAX_WAITS):
        site, canceller = make(), Canceller(at)
        asyncio.run(run(site, canceller))
        if canceller.waits < at:
            assert at > 1, "wanted a coroutine that waits"
            return
        yield at, site
    raise AssertionError(f"wanted an end within {MAX_WAITS} waits")
