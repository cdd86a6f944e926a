"""Many calls at once whose results come in the order of what they were made for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

AHEAD = 4
"""Results that may wait for a slow one before them, in multiples of the calls at once."""


def in_order(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], in_flight: int
) -> Generator[ResultT, None, None]:
    """Yield the result for each item, in their order; memory does not grow with their number.

    Items are taken as results are asked for. When the caller stops early, what has not begun is
    dropped, and what is under way is not waited for.

    Args:
        work: Called in threads, `in_flight` of them.
        items: As many as there may be.
        in_flight: Calls at once.
    """
    pool = ThreadPoolExecutor(in_flight, thread_name_prefix="recognize")
    results: deque[Future[ResultT]] = deque()
    try:
        for item in items:
            results.append(pool.submit(work, item))
            if len(results) >= AHEAD * in_flight:
                yield results.popleft().result()
        while results:
            yield results.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
