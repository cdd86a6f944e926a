"""Fewer calls go to Triton while workers start."""

import asyncio

import pytest

from orchestrator.serving.gateway.upstream import start_throttle
from orchestrator.serving.gateway.upstream.start_throttle import MAX_DURATION_S, StartThrottle
from tests.serving.gateway.stories import settle
from tests.virtual_time import Clock

CALLS = 16


class HeldCalls:
    """Calls that stay with Triton until they are released."""

    def __init__(self, calls: int = CALLS) -> None:
        self.clock = Clock()
        self.throttle = StartThrottle(calls, self.clock)
        self.at_once = 0
        self._go = asyncio.Event()

    async def call(self) -> None:
        slots = await self.throttle.acquire()
        self.at_once += 1
        try:
            await self._go.wait()
        finally:
            self.at_once -= 1
            if slots is not None:
                slots.release()

    async def most(self) -> int:
        """Return the number of calls that are with Triton before any is answered."""
        calls = [asyncio.create_task(self.call()) for _ in range(2 * CALLS)]
        await settle()
        most = self.at_once
        self._go.set()
        await asyncio.gather(*calls)
        self._go.clear()
        assert self.at_once == 0
        return most


async def test_calls_are_held_back_while_workers_start_and_no_longer() -> None:
    story = HeldCalls()
    assert await story.most() == 2 * CALLS
    story.throttle.begin("yolo", is_last=False)
    assert await story.most() == CALLS // 4
    story.throttle.begin("stn", is_last=True)
    assert await story.most() == CALLS // 8
    story.throttle.end("stn")
    assert await story.most() == CALLS // 4
    story.throttle.end("yolo")
    assert await story.most() == 2 * CALLS
    story.throttle.begin("yolo", is_last=False)
    story.throttle.begin("stn", is_last=True)
    story.throttle.end_all()  # another Triton has all its workers
    assert await story.most() == 2 * CALLS


@pytest.mark.parametrize(("calls", "few", "fewest"), [(1, 1, 1), (7, 1, 1), (8, 2, 1), (15, 3, 1)])
async def test_of_few_calls_one_goes_at_least(calls: int, few: int, fewest: int) -> None:
    story = HeldCalls(calls)
    story.throttle.begin("yolo", is_last=False)
    assert await story.most() == few
    story.throttle.begin("yolo", is_last=True)
    assert await story.most() == fewest


@pytest.mark.parametrize(
    ("after_s", "most"), [(MAX_DURATION_S, CALLS // 8), (MAX_DURATION_S + 1, 2 * CALLS)]
)
async def test_a_start_without_an_end_throttles_calls_for_a_while(
    after_s: float, most: int
) -> None:
    story = HeldCalls()
    story.throttle.begin("stn", is_last=True)
    story.clock.now_s += after_s
    assert await story.most() == most


async def test_a_turn_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_throttle, "WAIT_S", 0.01)
    story = HeldCalls()
    story.throttle.begin("stn", is_last=True)
    hung = [asyncio.create_task(story.call()) for _ in range(CALLS // 8)]
    await settle()
    assert await story.throttle.acquire() is None
    assert await story.most() == len(hung)
    await asyncio.gather(*hung)


async def test_a_caller_who_leaves_takes_no_turn_along() -> None:
    story = HeldCalls()
    story.throttle.begin("stn", is_last=True)
    callers = [asyncio.create_task(story.call()) for _ in range(CALLS)]
    await settle()
    _ = [caller.cancel() for caller in callers]
    await asyncio.gather(*callers, return_exceptions=True)
    assert await story.most() == CALLS // 8
