"""Answers are kept for a while, and not too many of them."""

import asyncio
from collections.abc import Hashable

import pytest

from orchestrator.serving.gateway.upstream.timed_cache import TimedCache
from tests.serving.gateway.stories import Clock


class Asked:
    """Counts the questions that were really asked."""

    def __init__(self, most: int = 3) -> None:
        self.clock = Clock()
        self.cache = TimedCache(most, self.clock)
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
    asked = Asked(most=3)
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
