"""Rounds of maintenance of a store that fails."""

import asyncio
import sqlite3
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import ServerError
from plate_cameras.background_tasks import BackgroundTasks, TaskStatus
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.service import background
from plate_cameras.service.background import EVENT_LOOP, STALLED_S, Health
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.streams import beside
from tests.virtual_time import run_virtually, virtually

SITE = Configuration((Camera("gate", "rtsp://10.0.0.5/"),))


FAILURES = [
    ServerError("the database is away"),
    sqlite3.OperationalError("database or disk is full"),
    OSError(28, "No space left on device"),
    RuntimeError("can't start new thread"),
]


class FailingStore:
    """A store whose calls each fail a number of times; it counts the successful ones."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = [*failures]
        self.rounds: list[float] = []
        self.events: list[object] = []
        self.unclosed_passes = self

    def step(self) -> None:
        self.rounds.append(asyncio.get_event_loop().time())
        if self.failures:
            raise self.failures.pop(0)

    inside = SimpleNamespace(count=lambda sites: None)

    def delete_expired(self, now_s: float) -> None:
        self.step()

    def replay_spool(self) -> int:
        self.step()
        return 0

    def interrupted(self, *_: object) -> list[object]:
        return [] if self.events else [make_event()]

    def write(self, events: list[object], sinks: object) -> None:
        self.events += events


def run_for(seconds: float, coroutine: Coroutine[Any, Any, None]) -> None:
    async def run() -> None:
        async with beside(coroutine):
            await asyncio.sleep(seconds)

    run_virtually(run())


@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_upkeep_goes_on_after_a_failure_and_retention_sooner(error: Exception) -> None:
    store = FailingStore(error)
    run_for(3700, background.delete_old(store))  # type: ignore[arg-type]
    assert store.rounds == [0, 60, 3660]
    store = FailingStore(error)
    run_for(12, background.replay_spool(store))  # type: ignore[arg-type]
    assert store.rounds == [5, 10]
    store = FailingStore(error)
    run_virtually(background.close_interrupted(store, SITE))  # type: ignore[arg-type]
    assert len(store.events) == 1


@virtually
async def test_rounds_that_fail_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    store = FailingStore(*[sqlite3.OperationalError("full")] * 3)
    tasks = BackgroundTasks()
    background.start_upkeep(tasks, store, deletes=True, last_configuration=None)  # type: ignore[arg-type]
    await asyncio.sleep(30)
    statuses = {task_status.name: task_status for task_status in tasks.statuses}
    assert statuses["spool"].failures + statuses["retention"].failures == 3
    assert all(task_status.is_up for task_status in tasks.statuses)
    await tasks.stop()
    assert sorted(caplog.messages) == [
        "old passes cannot be deleted: OperationalError: full",
        "the spool cannot be replayed: OperationalError: full",
    ]


def test_dead_tasks_of_all_owners_are_named() -> None:
    dead = TaskStatus("camera gate", is_running=False)
    health = Health([lambda: [TaskStatus("writer"), dead], lambda: [TaskStatus("gates thread")]])
    assert health.find_dead() == ["camera gate"]
    assert [status.name for status in health.statuses] == ["writer", "camera gate", "gates thread"]


@virtually
async def test_an_event_loop_that_stands_still_is_dead() -> None:
    now_s = 100.0
    health = Health([], clock=lambda: now_s)
    now_s += STALLED_S + 1
    assert health.find_dead() == [EVENT_LOOP]
    task = asyncio.ensure_future(health.beat())
    await asyncio.sleep(0)
    task.cancel()
    assert health.find_dead() == []
