"""Delivers the events of the outbox to every sink, each at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from plate_cameras.background_tasks import BackgroundTasks, TaskStatus
from plate_cameras.clocks import unix_s, wait_through
from plate_cameras.sinks.outbox import LIMIT_S, Outbox
from plate_cameras.sinks.receiver import CLOSE_LIMIT_S, Receiver
from plate_cameras.sinks.sink_queue import STOP_LIMIT_S, SinkQueue
from plate_cameras.sinks.sink_status import SinkStatus

MAX_STOP_S = STOP_LIMIT_S + 2 * LIMIT_S + CLOSE_LIMIT_S
"""Longest time of a stop. It covers events that are being sent, a hanging call of the outbox, the
return of deliveries, and the receivers' connections."""


class Deliverer:
    """Runs the queues of all sinks side by side; none waits for another.

    Args:
        outbox: The events that wait.
        clock: The clock of the outbox. It goes on when somebody sets the Unix time.
    """

    def __init__(
        self,
        receivers: Mapping[str, Receiver],
        outbox: Outbox,
        clock: Callable[[], float] = unix_s,
    ) -> None:
        self._queues = [
            SinkQueue(name, receiver, outbox, clock) for name, receiver in receivers.items()
        ]
        self._tasks = BackgroundTasks()

    @property
    def statuses(self) -> tuple[SinkStatus, ...]:
        return tuple(queue.status for queue in self._queues)

    @property
    def tasks(self) -> tuple[TaskStatus, ...]:
        """The states of the queues' tasks. One that has failed is started again."""
        return self._tasks.statuses

    def enable(self) -> None:
        """Deliver again to receivers that wanted no more events; they may answer 410 again."""
        for queue in self._queues:
            if queue.status.is_disabled:
                queue.enable()

    def wake(self) -> None:
        """Look for new events at once. A sink that rests after a failure goes on resting."""
        for queue in self._queues:
            queue.wake()

    async def run(self) -> None:
        """Deliver until the task is cancelled; then release events that were not sent, and close.

        The end takes at most `MAX_STOP_S`.
        """
        try:
            for queue in self._queues:
                self._tasks.start(f"sink {queue.status.name}", queue.run)
            await asyncio.Event().wait()
        finally:
            ending = asyncio.create_task(self._end())
            await wait_through([ending], MAX_STOP_S)

    async def drain(self, within_s: float) -> int:
        """Deliver what waits, for a limited time; `run` may go on meanwhile.

        Returns:
            The number of events that still wait.
        """
        draining = [asyncio.create_task(queue.drain()) for queue in self._queues]
        if draining:
            try:
                await asyncio.wait(draining, timeout=within_s)
            finally:
                for task in draining:
                    task.cancel()
                cancellation = await wait_through(draining, MAX_STOP_S)
            if cancellation:
                raise cancellation
            await asyncio.gather(*(queue.count_waiting() for queue in self._queues))
        return sum(status.waiting for status in self.statuses)

    def describe_waiting(self) -> list[str]:
        """Return a line for each sink whose receiver has not accepted all events."""
        return [
            f"sink {status.name}: {status.waiting} events wait for the next run"
            + (f": {status.last_error}" if status.last_error else "")
            for status in self.statuses
            if status.waiting
        ]

    async def _end(self) -> None:
        try:
            await self._tasks.stop()
        finally:
            await asyncio.gather(*(queue.close() for queue in self._queues))
