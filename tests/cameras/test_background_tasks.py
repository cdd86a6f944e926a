"""Tasks that fail, return or are stopped, and what their owner makes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from orchestrator.cameras.background_tasks import BackgroundTasks, FatalTaskError

Act = Callable[[BackgroundTasks], Awaitable[None]]


class Failing:
    """A coroutine function that fails a number of times, and then waits for ever."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.failures, self.error = failures, error or OSError("no descriptors")
        self.starts = 0
        self.has_settled = asyncio.Event()

    async def __call__(self) -> None:
        self.starts += 1
        if self.starts <= self.failures:
            raise self.error
        self.has_settled.set()
        await asyncio.Event().wait()


class Sleeps:
    """Sleeps for no time, and remembers for how long."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        await asyncio.sleep(0)


def run(act: Act, sleeps: Sleeps | None = None, clock: Callable[[], float] = lambda: 0.0) -> None:
    async def main() -> None:
        tasks = BackgroundTasks(clock, sleeps or Sleeps())
        try:
            await asyncio.wait_for(act(tasks), 10)
        finally:
            await tasks.stop()

    asyncio.run(main())


def test_a_task_that_fails_is_started_again_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def act(tasks: BackgroundTasks) -> None:
        camera = Failing(3)
        tasks.start("camera gate", camera)
        await camera.has_settled.wait()
        (status,) = tasks.statuses
        assert (status.failures, status.is_running) == (3, True)
        assert status.last_error == "OSError: no descriptors"

    run(act)
    assert "task camera gate has failed; it is started again" in caplog.text
    assert "Traceback" in caplog.text


def test_pauses_double_up_to_a_limit() -> None:
    sleeps = Sleeps()

    async def act(tasks: BackgroundTasks) -> None:
        camera = Failing(6)
        tasks.start("camera", camera)
        await camera.has_settled.wait()

    run(act, sleeps)
    assert sleeps.pauses_s == [0.5, 1, 2, 4, 5, 5]


def test_a_task_that_was_well_for_a_minute_begins_with_the_first_pause() -> None:
    sleeps, times = Sleeps(), iter([0.0, 1.0, 1.0, 2.0, 10.0, 80.0, 80.0])

    async def act(tasks: BackgroundTasks) -> None:
        camera = Failing(3)
        tasks.start("camera", camera)
        await camera.has_settled.wait()

    run(act, sleeps, lambda: next(times))
    assert sleeps.pauses_s == [0.5, 1, 0.5]


def test_a_task_that_returns_although_it_must_not_has_failed() -> None:
    starts = []

    async def act(tasks: BackgroundTasks) -> None:
        async def returns() -> None:
            starts.append(1)
            if len(starts) > 1:
                await asyncio.Event().wait()

        tasks.start("lists", returns)
        while len(starts) < 2:
            await asyncio.sleep(0)
        assert tasks.statuses[0].last_error == "RuntimeError: it has returned, which it must not"

    run(act)


def test_a_task_that_may_end_is_not_started_again() -> None:
    async def act(tasks: BackgroundTasks) -> None:
        async def clip() -> None:
            await asyncio.sleep(0)

        await tasks.start("clip", clip, ends=True)
        (status,) = tasks.statuses
        assert (status.has_ended, status.is_running, status.failures) == (True, False, 0)

    run(act)


def test_a_vital_task_that_fails_ends_the_wait_with_its_reason() -> None:
    async def act(tasks: BackgroundTasks) -> None:
        tasks.start("writer", Failing(1), is_vital=True)
        with pytest.raises(FatalTaskError, match="task writer has failed: OSError: no descriptors"):
            await tasks.wait_for_fatal()
        (status,) = tasks.statuses
        assert (status.is_running, status.has_ended, status.failures) == (False, True, 1)

    run(act)


def test_a_vital_task_that_failed_before_the_wait_ends_it_at_once() -> None:
    async def act(tasks: BackgroundTasks) -> None:
        await tasks.start("writer", Failing(1), is_vital=True)
        with pytest.raises(FatalTaskError):
            await tasks.wait_for_fatal()

    run(act)


def test_a_stopped_task_is_cancelled_and_forgotten() -> None:
    async def act(tasks: BackgroundTasks) -> None:
        camera, yard = Failing(0), Failing(0)
        tasks.start("gate", camera)
        tasks.start("yard", yard)
        await asyncio.gather(camera.has_settled.wait(), yard.has_settled.wait())
        await tasks.stop("gate")
        assert [one.name for one in tasks.statuses] == ["yard"]
        tasks.start("gate", camera)

    run(act)


def test_a_name_is_not_given_twice() -> None:
    async def act(tasks: BackgroundTasks) -> None:
        tasks.start("gate", Failing(0))
        with pytest.raises(ValueError, match="task gate: wanted another name"):
            tasks.start("gate", Failing(0))

    run(act)


def test_a_task_that_loses_its_cancellation_is_not_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    starts = []

    async def act(tasks: BackgroundTasks) -> None:
        is_there = asyncio.Event()

        async def deaf() -> None:
            starts.append(1)
            is_there.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return

        tasks.start("deaf", deaf)
        await is_there.wait()
        await tasks.stop("deaf")

    with caplog.at_level(logging.ERROR):
        run(act)
    assert starts == [1]
    assert not caplog.records
