"""Concurrent calls: results in order, bounded memory, and no work ahead of the consumer."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, closing
from contextvars import ContextVar

import pytest

from orchestrator.client.ordered_results import ROOM, work_in_order, work_in_order_async

Work = Callable[[int], int]


def in_threads(work: Work, items: Iterable[int], in_flight: int) -> list[int]:
    return list(work_in_order(work, items, in_flight))


def in_tasks(work: Work, items: Iterable[int], in_flight: int) -> list[int]:
    async def work_later(item: int) -> int:
        await asyncio.sleep(0.001 * (item % 3))
        return work(item)

    async def run() -> list[int]:
        return [result async for result in work_in_order_async(work_later, items, in_flight)]

    return asyncio.run(run())


@pytest.fixture(params=[in_threads, in_tasks])
def run(request: pytest.FixtureRequest) -> Callable[[Work, Iterable[int], int], list[int]]:
    return request.param


def test_no_items_are_no_results(run) -> None:
    assert run(abs, [], 3) == []


@pytest.mark.parametrize("in_flight", [1, 3, 64])
def test_results_come_in_the_order_of_the_items(run, in_flight: int) -> None:
    assert run(lambda item: -item, range(50), in_flight) == [-item for item in range(50)]


def test_an_error_of_the_work_is_the_callers(run) -> None:
    with pytest.raises(ZeroDivisionError):
        run(lambda item: 1 // (item - 7), range(50), 3)


class NumberSource:
    """An endless source of numbers that records the last one."""

    def __init__(self) -> None:
        self.count = 0

    def __iter__(self) -> Iterator[int]:
        for item in itertools.count():
            self.count = item + 1
            yield item


def test_threads_take_no_more_items_than_there_is_room_for() -> None:
    source, first_ends = NumberSource(), threading.Event()

    def work(item: int) -> int:
        assert item or first_ends.wait(20)
        return item

    threading.Timer(0.2, first_ends.set).start()
    with closing(work_in_order(work, source, 3)) as results:
        assert next(results) == 0
        assert source.count == ROOM * 3
        assert next(results) == 1
        assert source.count <= ROOM * 3 + 1


def test_tasks_take_no_more_items_than_there_is_room_for() -> None:
    async def run() -> None:
        source, first_ends = NumberSource(), asyncio.Event()

        async def work(item: int) -> int:
            if item == 0:
                await first_ends.wait()
            return item

        asyncio.get_running_loop().call_later(0.05, first_ends.set)
        async with aclosing(work_in_order_async(work, source, 3)) as results:
            assert await anext(results) == 0
            assert source.count == ROOM * 3

    asyncio.run(run())


def test_no_more_threads_work_than_in_flight() -> None:
    at_work, counts, lock = set(), [], threading.Lock()

    def work(item: int) -> int:
        with lock:
            at_work.add(item)
            counts.append(len(at_work))
        threading.Event().wait(0.002)
        with lock:
            at_work.remove(item)
        return item

    in_threads(work, range(30), 2)
    assert max(counts) == 2


def test_no_more_tasks_work_than_in_flight() -> None:
    at_work, counts = set(), []

    async def work(item: int) -> int:
        at_work.add(item)
        counts.append(len(at_work))
        await asyncio.sleep(0.002)
        at_work.remove(item)
        return item

    async def run() -> None:
        assert [item async for item in work_in_order_async(work, range(30), 2)] == [*range(30)]

    asyncio.run(run())
    assert max(counts) == 2


def test_a_ready_result_waits_for_one_more_item_at_most() -> None:
    """As with a camera, the next item comes late."""
    source = NumberSource()
    ends = [threading.Event() for _ in range(4)]

    def frames() -> Iterator[int]:
        for item in source:
            if item:
                assert ends[item - 1].wait(20)
            yield item

    def work(item: int) -> int:
        ends[item].set()
        return item

    with closing(work_in_order(work, frames(), 8)) as results:
        assert [next(results) for _ in range(2)] == [0, 1]
        assert source.count <= 4


SLOW = 3
"""The item whose result comes only after the result of `LAST`."""
LAST = 6


def test_after_a_slow_result_threads_give_back_all_that_are_ready() -> None:
    """As with a camera, the next item comes late: `LAST + 1` follows the slow result."""
    source, is_over = NumberSource(), [threading.Event() for _ in range(LAST + 1)]

    def frames() -> Iterator[int]:
        for item in source:
            if item and item - 1 not in range(SLOW, LAST):
                assert is_over[item - 1].wait(20)
            if item == LAST + 1:
                assert is_over[SLOW].wait(20)
                threading.Event().wait(0.2)  # a result is ready a moment after its work has ended
            yield item

    def work(item: int) -> int:
        if item == SLOW:
            assert is_over[LAST].wait(20)
        if item <= LAST:
            is_over[item].set()
        return item

    with closing(work_in_order(work, frames(), 8)) as results:
        assert [next(results) for _ in range(LAST + 1)] == [*range(LAST + 1)]
        assert source.count <= LAST + 2


def test_after_a_slow_result_tasks_give_back_all_that_are_ready() -> None:
    async def run() -> None:
        source, slow = NumberSource(), asyncio.Event()

        async def frames() -> AsyncIterator[int]:
            for item in source:
                if item == LAST + 1:
                    slow.set()
                await asyncio.sleep(0.01)
                yield item

        async def work(item: int) -> int:
            if item == SLOW:
                await slow.wait()
            return item

        async with aclosing(work_in_order_async(work, frames(), 8)) as results:
            assert [await anext(results) for _ in range(LAST + 1)] == [*range(LAST + 1)]
        assert source.count <= LAST + 2

    asyncio.run(run())


def test_closing_early_cancels_the_work_that_has_not_begun() -> None:
    source, begun_items, releases = NumberSource(), set(), []
    is_full, release = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        for item in source:
            yield item
            if item + 1 == ROOM * 2 - 1:
                is_full.set()

    def work(item: int) -> int:
        begun_items.add(item)
        if item:
            releases.append(release.wait(20))
        else:
            assert is_full.wait(20)
        return item

    results = work_in_order(work, items(), 2)
    assert next(results) == 0
    assert source.count == ROOM * 2
    results.close()
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("plates"):
            thread.join(20)
    assert begun_items <= {0, 1, 2}
    assert all(releases)  # otherwise the close waited for the work


def test_closing_early_cancels_the_tasks() -> None:
    cancelled_items: list[int] = []

    async def work(item: int) -> int:
        try:
            await asyncio.sleep(20 if item else 0)
        except asyncio.CancelledError:
            cancelled_items.append(item)
            raise
        return item

    async def run() -> None:
        async with aclosing(work_in_order_async(work, range(100), 2)) as results:
            async for _ in results:
                break
        assert 1 in cancelled_items  # here: the end of the event loop would cancel it in any case

    asyncio.run(run())


def test_a_task_starts_before_the_next_item_is_taken() -> None:
    """A source that never waits must not block the event loop for the tasks."""
    started_items: list[int] = []

    def items() -> Iterator[int]:
        for item in range(5):
            assert started_items == [*range(item)]
            yield item

    async def work(item: int) -> int:
        started_items.append(item)
        await asyncio.sleep(0.001)
        return item

    async def run() -> list[int]:
        return [result async for result in work_in_order_async(work, items(), 8)]

    assert asyncio.run(run()) == [*range(5)]


def test_threads_see_the_callers_context() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody's")
    variable.set("the caller's")
    assert list(work_in_order(lambda _: variable.get(), range(2), 2)) == ["the caller's"] * 2


def test_a_source_may_be_asynchronous() -> None:
    async def frames() -> AsyncIterator[int]:
        for item in range(5):
            await asyncio.sleep(0)
            yield item

    async def run() -> list[int]:
        results = work_in_order_async(lambda item: asyncio.sleep(0, 2 * item), frames(), 2)
        return [result async for result in results]

    assert asyncio.run(run()) == [0, 2, 4, 6, 8]
