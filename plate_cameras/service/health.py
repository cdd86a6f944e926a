"""The health of a watch: which of its tasks are dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from plate_cameras.background_tasks import TaskStatus
from plate_cameras.clocks import steady_s

BEAT_S, STALLED_S = 1.0, 15.0
"""How often the event loop gives a sign, and the age of a sign that tells that it stands still."""
EVENT_LOOP = "event loop"
"""Name of the event loop among dead tasks."""

TakeStatuses = Callable[[], Sequence[TaskStatus]]


class Health:
    """Knows the state of all tasks. Other threads may ask for it.

    Args:
        takes: Return the states of tasks, each for one owner.
        clock: A clock that nobody sets.
    """

    def __init__(
        self, takes: Sequence[TakeStatuses], clock: Callable[[], float] = steady_s
    ) -> None:
        self._takes, self._clock = takes, clock
        self._beat_s = clock()

    @property
    def statuses(self) -> tuple[TaskStatus, ...]:
        """The states of all tasks."""
        return tuple(status for take in self._takes for status in take())

    def find_dead(self) -> list[str]:
        """Return the names of tasks that do not run although they should."""
        stalled = [EVENT_LOOP] if self._clock() - self._beat_s > STALLED_S else []
        return [*stalled, *(one.name for one in self.statuses if not one.is_up)]

    async def beat(self) -> None:
        """Give signs that the event loop runs, until the task is cancelled."""
        while True:
            self._beat_s = self._clock()
            await asyncio.sleep(BEAT_S)
