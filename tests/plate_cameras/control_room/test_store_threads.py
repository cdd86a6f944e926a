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

ONE = CallKind("one", threads=1, most_waiting=1, timeout_s=20.0)
OTHER = CallKind("other", threads=1, most_waiting=1, timeout_s=20.0)
THREE = CallKind("three", threads=3, most_waiting=8, timeout_s=20.0)
TURNS = CallKind("turns", threads=1, most_waiting=8, timeout_s=20.0)
BRIEF = CallKind("brief", threads=1, most_waiting=1, timeout_s=0.01)


class PreparedStore:
    """A store whose tables are made before each call."""

    def __init__(self) -> None:
        self.writer = self
        self.prepared = 0

    def prepare(self) -> None:
        self.prepared += 1


class Hold:
    """A call that runs until it is released."""

    def __init__(self) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.goes_on.wait(20)
        return "held"


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[StoreThreads, Hold]]:
    store: Any = PreparedStore()
    threads, hold = StoreThreads(store, (ONE, OTHER, THREE, TURNS, BRIEF)), Hold()
    try:
        yield threads, hold
    finally:
        hold.goes_on.set()
        threads.close()


async def begin(threads: StoreThreads, hold: Hold, kind: CallKind) -> asyncio.Task[str]:
    task = asyncio.create_task(threads.run(hold, kind))
    assert await asyncio.to_thread(hold.begun.wait, 20)
    return task


async def test_a_call_returns_what_it_returns_once_the_tables_are_made() -> None:
    store: Any = PreparedStore()
    threads = StoreThreads(store)
    assert [await threads.run(lambda: 7, kind) for kind in (QUICK, SEARCH, BULK)] == [7] * 3
    with pytest.raises(KeyError):
        await threads.run(lambda: {}["key"])
    assert store.prepared == 4
    threads.close()


async def test_slow_calls_of_one_kind_do_not_hold_up_another() -> None:
    async with opened() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        assert await threads.run(lambda: "quick", OTHER) == "quick"
        hold.goes_on.set()
        assert await slow == "held"


async def test_more_calls_than_may_wait_are_rejected() -> None:
    async with opened() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        waiting = asyncio.create_task(threads.run(lambda: "waited", ONE))
        await asyncio.sleep(0)
        with pytest.raises(ServiceFull, match="wait for the database"):
            await threads.run(lambda: "one more", ONE)
        hold.goes_on.set()
        assert [await slow, await waiting] == ["held", "waited"]
        assert await threads.run(lambda: "room again", ONE) == "room again"


async def test_a_call_that_takes_too_long_is_given_up_and_keeps_its_thread() -> None:
    async with opened() as (threads, hold):
        while not hold.begun.is_set():
            with pytest.raises(StoreUnavailable) as raised:
                await threads.run(hold, BRIEF)
        assert "a change may still be made" in str(raised.value)
        made: list[str] = []
        with pytest.raises(StoreUnavailable, match="has not answered"):
            await threads.run(lambda: made.append("never"), BRIEF)
        await asyncio.sleep(0.01)  # the one that waited has left the queue
        hold.goes_on.set()
        assert made == []


async def test_a_caller_that_hangs_up_makes_room() -> None:
    async with opened() as (threads, hold):
        slow = await begin(threads, hold, ONE)
        waiting = asyncio.create_task(threads.run(lambda: "never", ONE))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
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
    async with opened() as (threads, hold):
        greedy = [ask(threads, "greedy", hold) for _ in range(9)]
        assert await asyncio.to_thread(hold.begun.wait, 20)
        assert await ask(threads, "other", lambda: "answered") == "answered"
        refused = [one for one in greedy if one.done()]
        assert [type(one.exception()) for one in refused] == [ServiceFull] * 5  # 2 run, 2 wait
        hold.goes_on.set()
        assert [await one for one in greedy if one not in refused] == ["held"] * 4


async def test_callers_take_turns() -> None:
    async with opened() as (threads, hold):
        order: list[str] = []
        holding = ask(threads, "a", hold, TURNS)
        await asyncio.sleep(0)
        asked = [
            ask(threads, name, partial(order.append, name), TURNS) for name in ("a", "a", "b", "c")
        ]
        await asyncio.sleep(0)
        hold.goes_on.set()
        await asyncio.gather(holding, *asked)
        assert order == ["b", "c", "a", "a"]
