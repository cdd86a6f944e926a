"""Concurrent work on many items, with results in the items' order and bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

ROOM = 2
"""Largest number of items in the window for each item in work. Finished items wait there for a slow
item before them, and for the consumer of the results."""


def work_in_order(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], in_flight: int
) -> Generator[ResultT, None, None]:
    """Yield the results of `work` for all items, in their order. `work` runs in threads.

    The consumer's thread takes an item only if there is room for it. Then it yields all results
    that are ready. So a slow source, like a camera, delays a result by at most one item. Spans
    stay children of the caller's span.

    Args:
        work: Function that runs in up to `in_flight` threads.
        items: Items; there may be infinitely many.
        in_flight: Items in work at once.
    """
    pool = ThreadPoolExecutor(in_flight, thread_name_prefix="plates")
    window: deque[Future[ResultT]] = deque()
    try:
        for item in items:
            window.append(pool.submit(copy_context().run, work, item))
            while window and (window[0].done() or len(window) == ROOM * in_flight):
                yield window.popleft().result()
        while window:
            yield window.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def work_in_order_async(
    work: Callable[[ItemT], Awaitable[ResultT]],
    items: Iterable[ItemT] | AsyncIterable[ItemT],
    in_flight: int,
) -> AsyncGenerator[ResultT, None]:
    """Yield results like `work_in_order`, from tasks of the running event loop."""
    gate = asyncio.Semaphore(in_flight)
    window: deque[asyncio.Task[ResultT]] = deque()

    async def work_at_turn(item: ItemT) -> ResultT:
        async with gate:
            return await work(item)

    try:
        async for item in _each(items):
            window.append(asyncio.create_task(work_at_turn(item)))
            await asyncio.sleep(0)  # otherwise a loop without waits starts no task
            while window and (window[0].done() or len(window) == ROOM * in_flight):
                result = await window[0]
                window.popleft()
                yield result
        while window:
            result = await window[0]
            window.popleft()
            yield result
    finally:
        for task in window:
            task.cancel()
        await asyncio.gather(*window, return_exceptions=True)


async def _each(items: Iterable[ItemT] | AsyncIterable[ItemT]) -> AsyncIterator[ItemT]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
