"""Coroutines with a deadline, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from plate_cameras.event_waits import ENDING_S, complete_within
from tests.virtual_time import run_virtually


async def work(seconds: float, result: str = "done") -> str:
    await asyncio.sleep(seconds)
    return result


def test_the_result_comes_back() -> None:
    assert run_virtually(complete_within(work(2), 3)) == "done"


def test_an_error_comes_back() -> None:
    async def fail() -> None:
        raise KeyError("name")

    with pytest.raises(KeyError, match="name"):
        run_virtually(complete_within(fail(), 3))


def test_what_takes_too_long_is_cancelled() -> None:
    ended: list[float] = []

    async def cling() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(asyncio.get_running_loop().time())

    with pytest.raises(asyncio.TimeoutError):
        run_virtually(complete_within(cling(), 3))
    assert ended == [3]


def test_what_does_not_end_when_it_is_cancelled_is_left() -> None:
    async def cling() -> None:
        while True:
            try:
                await asyncio.sleep(100)
                return
            except asyncio.CancelledError:
                pass

    async def main() -> float:
        with pytest.raises(asyncio.TimeoutError):
            await complete_within(cling(), 3)
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == 3 + ENDING_S


def test_a_cancellation_ends_both() -> None:
    ended: list[str] = []

    async def note() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("inner")

    async def main() -> None:
        outer = asyncio.create_task(complete_within(note(), 30))
        await asyncio.sleep(1)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer
        ended.append("outer")

    run_virtually(main())
    assert ended == ["inner", "outer"]


def test_an_error_after_the_deadline_is_not_told_twice() -> None:
    async def fail() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise KeyError("late")

    with pytest.raises(asyncio.TimeoutError):
        run_virtually(complete_within(fail(), 3))
