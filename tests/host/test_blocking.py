"""Blocking calls of coroutines, in a thread without an event loop."""

import asyncio

import pytest

from orchestrator.host.blocking import run_blocking, settle


async def double(value: object) -> object:
    return 2 * await settle(value)


def test_a_coroutine_runs_in_a_thread_and_in_an_event_loop() -> None:
    async def run_beside_a_loop() -> object:
        return run_blocking(double(21))

    assert run_blocking(double(21)) == 42
    assert asyncio.run(double(asyncio.sleep(0, result=21))) == 42
    assert asyncio.run(run_beside_a_loop()) == 42


def test_its_error_is_the_callers() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        run_blocking(fail())


def test_a_coroutine_that_waits_for_an_event_loop_is_an_error() -> None:
    with pytest.raises(TypeError, match="wanted functions that block, got one of asyncio"):
        run_blocking(double(asyncio.sleep(0, result=21)))
