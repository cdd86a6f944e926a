"""Repeated rejections are delayed, so that a client that retries at once cannot use up the CPU."""

import asyncio

from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.admission import Admission
from tests.serving.gateway.stories import NOTHING, settle
from tests.virtual_time import Clock


class Sleeper:
    """A sleep that ends when the test wakes it; it records its duration."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.wake = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.wake.wait()


async def reject(admitting: Admission, times: int, clients: int = 1) -> list[asyncio.Task[None]]:
    tasks = [
        asyncio.create_task(admitting.delay_rejection(f"c{i % clients}")) for i in range(times)
    ]
    await settle()
    return tasks


async def test_the_first_rejections_of_a_second_are_sent_at_once() -> None:
    clock, sleeper = Clock(), Sleeper()
    admitting = Admission(Limits(calls=1), clock, sleeper)
    tasks = await reject(admitting, 22)
    assert [task.done() for task in tasks] == [True] * 20 + [False] * 2
    assert (sleeper.asked, admitting.counts().delayed) == ([1.0, 1.0], 2)
    clock.now += 1
    assert [task.done() for task in await reject(admitting, 20)] == [True] * 20
    sleeper.wake.set()
    await asyncio.gather(*tasks)
    assert admitting.counts() == NOTHING


async def test_no_more_than_2000_are_delayed() -> None:
    admitting = Admission(Limits(calls=1), Clock(), sleeper := Sleeper())
    tasks = await reject(admitting, 20 + 2000 + 3, clients=50)
    assert [task.done() for task in tasks] == [True] * 20 + [False] * 2000 + [True] * 3
    sleeper.wake.set()
    await asyncio.gather(*tasks)


async def test_one_client_has_at_most_125_delayed_rejections() -> None:
    admitting = Admission(Limits(calls=1), Clock(), sleeper := Sleeper())
    greedy = await reject(admitting, 20 + 125 + 3)
    assert [task.done() for task in greedy] == [True] * 20 + [False] * 125 + [True] * 3
    other = asyncio.create_task(admitting.delay_rejection("other"))
    await settle()
    assert not other.done()
    sleeper.wake.set()
    await asyncio.gather(*greedy, other)
    assert admitting.counts() == NOTHING


async def test_a_rejection_of_a_client_that_hangs_up_is_dropped() -> None:
    admitting = Admission(Limits(calls=1), Clock(), Sleeper())
    tasks = await reject(admitting, 21)
    tasks[-1].cancel()
    await settle()
    assert admitting.counts().delayed == 0
