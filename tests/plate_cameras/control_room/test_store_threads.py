"""Calls of the store in threads: slow calls do not block others."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from orchestrator.serving.gateway.errors import ServiceFull
from plate_cameras.control_room.store_threads import (
    BULK,
    CALLER,
    QUICK,
    SEARCH,
    CallKind,
    StoreThreads,
)
from plate_cameras.store.errors import StoreUnavailable

ONE = CallKind("one", threads=1, max_waiting=1, timeout_s=20.0)
OTHER = CallKind("other", threads=1, max_waiting=1, timeout_s=20.0)
THREE = CallKind("three", threads=3, max_waiting=8, timeout_s=20.0)
TURNS = CallKind("turns", threads=1, max_waiting=8, timeout_s=20.0)
BRIEF = CallKind("brief", threads=1, max_waiting=1, timeout_s=0.01)


class PreparedStore:
    """A store whose tables are made before each call."""

    def __init__(self) -> None:
        self.writer = self
        self.preparations = 0

    def prepare(self) -> None:
        self.preparations += 1


class Hold:
    """A call that runs until it is released."""

    def __init__(self) -> None:
        self.has_begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.has_begun.set()
        assert self.goes_on.wait(20)
        return "held"


@asynccontextmanager
async def open_threads() -> AsyncIterator[tuple[StoreThreads, Hold]]:
    store: Any = PreparedStore()
    threads, hold = StoreThreads(store, (ONE, OTHER, THREE, TURNS, BRIEF)), Hold()
    try:
        yield threads, hold
    finally:
        hold.goes_on.set()
        threads.close()


async def begin(threads: StoreThreads, hold: Hold, kind: CallKind) -> asyncio.Task[str]:
    task = asyncio.create_task(threads.run(hold, kind))
    assert await asyncio.to_thread(hold.has_begun.wait, 20)
    return task


async def test_a_call_returns_what_it_returns_once_the_tables_are_made() -> None:
    store: Any = PreparedStore()
    threads = StoreThreads(store)
    assert [await threads.run(lambda: 7, kind) for kind in (QUICK, SEARCH, BULK)] == [7] * 3
    with pytest.raises(KeyError):
        await threads.run(lambda: {}["key"])
    assert store.preparations == 4
    threads.close()


async def test_slow_calls_of_one_kind_do_not_hold_up_another() -> None:
    async with open_threads() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        assert await threads.run(lambda: "quick", OTHER) == "quick"
        hold.goes_on.set()
        assert await slow == "held"


async def test_more_calls_than_may_wait_are_rejected() -> None:
    async with open_threads() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        second = asyncio.create_task(threads.run(lambda: "waited", ONE))
        await asyncio.sleep(0)
        with pytest.raises(ServiceFull, match="wait for the database"):
            await threads.run(lambda: "one more", ONE)
        hold.goes_on.set()
        assert [await slow, await second] == ["held", "waited"]
        assert await threads.run(lambda: "room again", ONE) == "room again"


async def test_a_call_that_takes_too_long_is_given_up_and_keeps_its_thread() -> None:
    async with open_threads() as (threads, hold):
        while not hold.has_begun.is_set():
            with pytest.raises(StoreUnavailable) as caught:
                await threads.run(hold, BRIEF)
        assert "a change may still be made" in str(caught.value)
        calls: list[str] = []
        with pytest.raises(StoreUnavailable, match="has not answered"):
            await threads.run(lambda: calls.append("never"), BRIEF)
        await asyncio.sleep(0.01)  # the one that waited has left the queue
        hold.goes_on.set()
        assert calls == []


async def test_a_caller_that_hangs_up_makes_room() -> None:
    async with open_threads() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        second = asyncio.create_task(threads.run(lambda: "never", ONE))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        await asyncio.sleep(0)
        hold.goes_on.set()
        assert await threads.run(lambda: "next", ONE) == "next"
        assert await slow == "held"


def ask(
    threads: StoreThreads, caller: str, call: Callable[[], Any], kind: CallKind = THREE
) -> asyncio.Task[Any]:
    async def run() -> Any:
        CALLER.set(caller)
        return await threads.run(call, kind)

    return asyncio.create_task(run())


async def test_one_caller_never_has_all_threads_nor_all_places() -> None:
    async with open_threads() as (threads, hold):
        greedy = [ask(threads, "greedy", hold) for _ in range(9)]
        assert await asyncio.to_thread(hold.has_begun.wait, 20)
        assert await ask(threads, "other", lambda: "answered") == "answered"
        rejections = [call for call in greedy if call.done()]
        assert [type(call.exception()) for call in rejections] == [ServiceFull] * 5  # 2 run, 2 wait
        hold.goes_on.set()
        assert [await call for call in greedy if call not in rejections] == ["held"] * 4


async def test_callers_take_turns() -> None:
    async with open_threads() as (threads, hold):
        order: list[str] = []
        holding = ask(threads, "a", hold, TURNS)
        await asyncio.sleep(0)
        tasks = [
            ask(threads, name, partial(order.append, name), TURNS) for name in ("a", "a", "b", "c")
        ]
        await asyncio.sleep(0)
        hold.goes_on.set()
        await asyncio.gather(holding, *tasks)
        assert order == ["b", "c", "a", "a"]
