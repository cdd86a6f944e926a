"""Waiting for an event for some time."""

import asyncio

import pytest

from orchestrator.system.events import is_set_within


def test_an_event_that_comes_ends_the_wait() -> None:
    async def run() -> bool:
        event = asyncio.Event()
        asyncio.get_running_loop().call_soon(event.set)
        return await is_set_within(event, 60)

    assert asyncio.run(run())


def test_a_time_that_is_over_ends_the_wait() -> None:
    assert not asyncio.run(is_set_within(asyncio.Event(), 0.01))


@pytest.mark.parametrize("turns", range(5))
def test_a_cancellation_that_comes_with_the_event_is_not_lost(turns: int) -> None:
    async def run() -> None:
        event = asyncio.Event()

        async def wait_again_and_again() -> None:
            while True:
                await is_set_within(event, 0.01)

        task = asyncio.create_task(wait_again_and_again())
        await asyncio.sleep(0.001)
        event.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        event.clear()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=1)
        task.cancel()
        assert done == {task}

    asyncio.run(run())
