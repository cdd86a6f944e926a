"""The health of a watch: its dead tasks by name."""

import asyncio

from plate_cameras.background_tasks import TaskStatus
from plate_cameras.service.background import EVENT_LOOP, STALLED_S, Health
from tests.virtual_time import virtually


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
