"""The cache keeps answers for a time, and limits their number."""

import asyncio
import gc
from collections.abc import Hashable

import pytest

from orchestrator.serving.gateway.upstream.timed_cache import TimedCache
from tests.virtual_time import Clock


class Asked:
    """Counts the questions that the cache did not answer."""

    def __init__(self, max_answers: int = 3) -> None:
        self.clock = Clock()
        self.cache = TimedCache(max_answers, self.clock)
        self.keys: list[Hashable] = []

    def get(self, key: Hashable, ttl_s: float = 10.0) -> str:
        async def ask() -> str:
            self.keys.append(key)
            return f"{key} {len(self.keys)}"

        return str(asyncio.run(self.cache.get(key, ask, ttl_s)))


def test_an_answer_is_good_for_its_time() -> None:
    asked = Asked()
    assert [asked.get("a"), asked.get("a")] == ["a 1", "a 1"]
    asked.clock.now += 10
    assert asked.get("a") == "a 1"
    assert asked.get("a", ttl_s=9) == "a 2"


def test_of_too_many_answers_the_oldest_is_dropped() -> None:
    asked = Asked(max_answers=3)
    for key in (1, 2, 3):
        asked.get(key)
    asked.clock.now += 11
    asked.get(1)  # asked again, so no longer the oldest
    for key in range(4, 1000):
        asked.get(key)
        assert len(asked.cache) == 3
    asked.keys.clear()
    assert [asked.get(key) for key in (999, 998)] == ["999 1000", "998 999"]
    assert asked.keys == []


def test_a_failed_question_is_asked_again() -> None:
    asked = Asked()

    async def fail() -> str:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        asyncio.run(asked.cache.get("a", fail, 10.0))
    assert asked.get("a") == "a 1"


class SlowQuestion:
    """A question whose answer comes when the test releases it."""

    def __init__(self) -> None:
        self.cache, self.asked, self.let = TimedCache(3, Clock()), 0, asyncio.Event()
        self.error: Exception | None = None

    async def get(self) -> int:
        async def ask() -> int:
            self.asked += 1
            number = self.asked
            await self.let.wait()
            if self.error:
                raise self.error
            return number

        return int(await self.cache.get("a", ask, 10.0))


def test_callers_at_once_cause_one_question() -> None:
    async def ask() -> list[int]:
        question = SlowQuestion()
        waiting = [asyncio.create_task(question.get()) for _ in range(5)]
        await asyncio.sleep(0)
        question.let.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(ask()) == [1, 1, 1, 1, 1]


def test_all_that_wait_for_a_question_see_its_failure_and_the_next_asks_again() -> None:
    async def ask() -> tuple[list[object], int]:
        question = SlowQuestion()
        question.error = OSError("away")
        waiting = [asyncio.create_task(question.get()) for _ in range(3)]
        await asyncio.sleep(0)
        question.let.set()
        ends: list[object] = [
            str(end) for end in await asyncio.gather(*waiting, return_exceptions=True)
        ]
        question.error = None
        return ends, await question.get()

    assert asyncio.run(ask()) == (["away", "away", "away"], 2)


def test_a_caller_that_leaves_takes_no_answer_from_the_others() -> None:
    async def ask() -> int:
        question = SlowQuestion()
        first, second = (asyncio.create_task(question.get()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        question.let.set()
        return await second

    assert asyncio.run(ask()) == 1


def test_a_failure_that_nobody_waits_for_is_not_reported_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ask() -> None:
        question = SlowQuestion()
        question.error = OSError("away")
        only = asyncio.create_task(question.get())
        await asyncio.sleep(0)
        only.cancel()
        question.let.set()
        await asyncio.sleep(0.01)

    asyncio.run(ask())
    gc.collect()
    assert caplog.messages == []
