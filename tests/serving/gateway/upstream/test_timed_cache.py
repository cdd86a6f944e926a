"""The cache keeps answers for a time, and limits their number."""

import asyncio
import gc
from collections.abc import Hashable

from orchestrator.serving.gateway.upstream.timed_cache import TimedCache
from tests.virtual_time import Clock


class CountedCache:
    """Counts the questions that the cache did not answer."""

    def __init__(self, max_answers: int = 3) -> None:
        self.clock = Clock()
        self.cache = TimedCache(max_answers, self.clock)
        self.keys: list[Hashable] = []

    async def get(self, key: Hashable, ttl_s: float = 10.0) -> str:
        async def ask() -> str:
            self.keys.append(key)
            return f"{key} {len(self.keys)}"

        return str(await self.cache.get(key, ask, ttl_s))


async def test_an_answer_is_good_for_its_time() -> None:
    cache = CountedCache()
    assert [await cache.get("a"), await cache.get("a")] == ["a 1", "a 1"]
    cache.clock.now_s += 10
    assert await cache.get("a") == "a 1"
    assert await cache.get("a", ttl_s=9) == "a 2"


async def test_of_too_many_answers_the_oldest_is_dropped() -> None:
    cache = CountedCache(max_answers=3)
    for key in (1, 2, 3):
        await cache.get(key)
    cache.clock.now_s += 11
    await cache.get(1)  # asked again, so no longer the oldest
    for key in range(4, 1000):
        await cache.get(key)
        assert len(cache.cache) == 3
    cache.keys.clear()
    assert [await cache.get(key) for key in (999, 998)] == ["999 1000", "998 999"]
    assert cache.keys == []


class SlowQuestion:
    """A question whose answer or error comes when the test releases it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.cache, self.ask_count, self.error = TimedCache(3, Clock()), 0, error
        self.release = asyncio.Event()

    async def get(self) -> int:
        async def ask() -> int:
            self.ask_count += 1
            number = self.ask_count
            await self.release.wait()
            if self.error:
                raise self.error
            return number

        return int(await self.cache.get("a", ask, 10.0))

    async def begin(self, callers: int) -> list[asyncio.Task[int]]:
        tasks = [asyncio.create_task(self.get()) for _ in range(callers)]
        await asyncio.sleep(0)
        return tasks


async def test_callers_at_once_cause_one_question_whoever_leaves() -> None:
    question = SlowQuestion()
    first, *others = await question.begin(5)
    first.cancel()
    await asyncio.sleep(0)
    question.release.set()
    assert await asyncio.gather(*others) == [1, 1, 1, 1]


async def test_all_that_wait_for_a_question_see_its_failure_and_the_next_asks_again() -> None:
    question = SlowQuestion(OSError("away"))
    tasks = await question.begin(3)
    question.release.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(end) for end in ends] == ["away", "away", "away"]
    question.error = None
    assert await question.get() == 2


async def test_a_failure_that_nobody_waits_for_is_not_reported_as_lost(caplog) -> None:
    question = SlowQuestion(OSError("away"))
    (only,) = await question.begin(1)
    only.cancel()
    question.release.set()
    await asyncio.sleep(0.01)
    del question, only
    gc.collect()
    assert caplog.messages == []
