"""Waiting for an event for some time."""

import asyncio

import pytest

from plate_cameras.clocks import ENDING_S, complete_within, is_set_within, wait_through
from tests.virtual_time import run_virtually, virtually


async def test_an_event_or_the_end_of_the_time_ends_the_wait() -> None:
    event = asyncio.Event()
    assert not await is_set_within(event, 0.01)
    asyncio.get_running_loop().call_soon(event.set)
    assert await is_set_within(event, 60)


@pytest.mark.parametrize("turns", range(5))
async def test_a_cancellation_that_comes_with_the_event_is_not_lost(turns: int) -> None:
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


async def test_a_cancellation_does_not_end_a_wait_that_must_be_finished() -> None:
    work = asyncio.get_running_loop().create_future()
    cancellations: list[asyncio.CancelledError | None] = []

    async def finish() -> None:
        cancellations.append(await wait_through([work], 20))

    task = asyncio.create_task(finish())
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    work.set_result(None)
    await task
    assert isinstance(cancellations[0], asyncio.CancelledError)


async def test_a_wait_that_must_be_finished_has_a_limit_and_cancels_nothing() -> None:
    work = asyncio.get_running_loop().create_future()
    assert await wait_through([work], 0.01) is None
    assert not work.done()


async def fail(at_s: float) -> None:
    try:
        await asyncio.sleep(at_s)
    finally:
        raise KeyError("name")


@pytest.mark.parametrize(
    ("at_s", "error"),
    [
        pytest.param(1, KeyError, id="in time"),
        pytest.param(9, asyncio.TimeoutError, id="late, when it is cancelled"),
    ],
)
def test_an_error_comes_back_once(at_s: float, error: type[Exception]) -> None:
    with pytest.raises(error):
        run_virtually(complete_within(fail(at_s), 3))


def test_what_takes_too_long_is_cancelled() -> None:
    end_times: list[float] = []

    async def cling() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            end_times.append(asyncio.get_running_loop().time())

    with pytest.raises(asyncio.TimeoutError):
        run_virtually(complete_within(cling(), 3))
    assert end_times == [3]


@virtually
async def test_what_does_not_end_when_it_is_cancelled_is_left() -> None:
    async def cling() -> None:
        while True:
            try:
                await asyncio.sleep(100)
                return
            except asyncio.CancelledError:
                pass

    with pytest.raises(asyncio.TimeoutError):
        await complete_within(cling(), 3)
    assert asyncio.get_running_loop().time() == 3 + ENDING_S


@virtually
async def test_a_cancellation_ends_both() -> None:
    ends: list[str] = []

    async def note() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("inner")

    outer = asyncio.create_task(complete_within(note(), 30))
    await asyncio.sleep(1)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    ends.append("outer")
    assert ends == ["inner", "outer"]
