"""Tasks that fail, return or are stopped, and the reaction of their owner."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from orchestrator.errors import ServerError
from plate_cameras.background_tasks import (
    SETTLED_S,
    BackgroundTasks,
    FatalTaskError,
    TaskStatus,
)
from tests.virtual_time import virtually

AWAY = ServerError("away")


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
    """A sleep that returns at once and records its duration."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        await asyncio.sleep(0)


@asynccontextmanager
async def running(
    sleeps: Sleeps | None = None, clock: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[BackgroundTasks]:
    tasks = BackgroundTasks(clock, sleeps or Sleeps())
    try:
        yield tasks
    finally:
        await tasks.stop()


async def test_a_task_that_fails_is_started_again_always_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as tasks:
        camera = Failing(4)
        tasks.start("camera gate", camera)
        await camera.has_settled.wait()
        (status,) = tasks.statuses
        assert (status.failures, status.is_running) == (4, True)
        assert status.last_error == "OSError: no descriptors"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "task camera gate has failed; it is started again" in caplog.text
    assert "Traceback" in caplog.text


@virtually
async def test_an_error_is_over_when_the_task_has_run_for_a_minute() -> None:
    async with running() as tasks:
        tasks.start("camera gate", Failing(1))
        await asyncio.sleep(SETTLED_S - 1)
        assert tasks.statuses[0].last_error == "OSError: no descriptors"
        await asyncio.sleep(2)
        assert (tasks.statuses[0].failures, tasks.statuses[0].last_error) == (1, "")


@pytest.mark.parametrize(
    ("times_s", "pauses_s"),
    [
        pytest.param([0.0] * 13, [0.5, 1, 2, 4, 5, 5], id="they double up to a limit"),
        pytest.param([0, 1, 1, 2, 10, 80, 80], [0.5, 1, 0.5], id="anew after a minute without"),
    ],
)
async def test_pauses_after_failures(times_s: list[float], pauses_s: list[float]) -> None:
    sleeps, times = Sleeps(), iter(times_s)
    async with running(sleeps, lambda: next(times)) as tasks:
        camera = Failing(len(pauses_s))
        tasks.start("camera", camera)
        await camera.has_settled.wait()
    assert sleeps.pauses_s == pauses_s


@pytest.mark.parametrize(
    ("end", "error"),
    [
        pytest.param(None, "RuntimeError: it has returned, which it must not", id="it returns"),
        pytest.param(
            asyncio.CancelledError(),
            "RuntimeError: it was cancelled, but not by its owner",
            id="it is cancelled",
        ),
    ],
)
async def test_any_end_of_a_task_that_must_not_end_is_a_failure(
    end: BaseException | None, error: str
) -> None:
    starts = []

    async def end_once() -> None:
        starts.append(1)
        if len(starts) > 1:
            await asyncio.Event().wait()
        if end:
            raise end

    async with running() as tasks:
        tasks.start("lists", end_once)
        while len(starts) < 2:
            await asyncio.sleep(0)
        assert tasks.statuses[0].failures == 1
        assert tasks.statuses[0].last_error.startswith(error)


async def test_a_task_that_may_end_is_not_started_again() -> None:
    async with running() as tasks:

        async def clip() -> None:
            await asyncio.sleep(0)

        await tasks.start("clip", clip, ends=True)
        (status,) = tasks.statuses
        assert (status.has_ended, status.is_running, status.failures) == (True, False, 0)


async def test_a_vital_task_that_fails_ends_the_wait_with_its_reason() -> None:
    async with running() as tasks:
        tasks.start("writer", Failing(1), is_vital=True)
        with pytest.raises(FatalTaskError, match="task writer has failed: OSError: no descriptors"):
            await tasks.wait_for_fatal()
        (status,) = tasks.statuses
        assert (status.is_running, status.has_ended, status.failures) == (False, True, 1)


async def test_a_stopped_task_is_cancelled_and_forgotten() -> None:
    async with running() as tasks:
        camera, yard = Failing(0), Failing(0)
        tasks.start("gate", camera)
        tasks.start("yard", yard)
        await asyncio.gather(camera.has_settled.wait(), yard.has_settled.wait())
        await tasks.stop("gate")
        assert [status.name for status in tasks.statuses] == ["yard"]
        tasks.start("gate", camera)
        with pytest.raises(ValueError, match="task gate: wanted another name"):
            tasks.start("gate", camera)


async def test_a_task_that_loses_its_cancellation_is_not_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    starts = []
    async with running() as tasks:
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
    assert starts == [1]
    assert not caplog.records


async def test_a_task_that_somebody_else_cancels_is_dead() -> None:
    async with running() as tasks:
        camera = Failing(0)
        task = tasks.start("camera", camera)
        await camera.has_settled.wait()
        task.cancel()
        await asyncio.wait({task})
        assert not tasks.statuses[0].is_up


async def test_a_failure_at_the_end_of_a_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as tasks:
        is_there = asyncio.Event()

        async def camera() -> None:
            try:
                is_there.set()
                await asyncio.Event().wait()
            finally:
                raise OSError("the passes cannot be closed")

        tasks.start("camera", camera)
        await is_there.wait()
        await tasks.stop("camera")
    assert "the passes cannot be closed" in caplog.text


async def test_a_round_that_fails_is_counted_and_each_reason_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as tasks:
        tasks.start("retention", Failing(0))
        for error in (AWAY, AWAY, None, AWAY, OSError("full")):
            tasks.note("retention", error, "old passes stay")
        (status,) = tasks.statuses
        assert (status.failures, status.is_up, status.last_error) == (4, True, "OSError: full")
    assert caplog.messages == ["old passes stay: away"] * 2 + ["old passes stay: OSError: full"]


@pytest.mark.parametrize(
    ("status", "is_up"),
    [
        pytest.param(TaskStatus("a"), True, id="runs"),
        pytest.param(TaskStatus("a", is_running=False), False, id="waits for its next start"),
        pytest.param(TaskStatus("a", is_running=False, has_ended=True), True, id="has ended"),
        pytest.param(
            TaskStatus("a", is_running=False, has_ended=True, is_vital=True), False, id="vital"
        ),
    ],
)
def test_a_task_that_does_not_run_and_should_is_not_up(status: TaskStatus, is_up: bool) -> None:
    assert status.is_up == is_up
