"""Finds hung workers: they are stopped, wait for nothing, or loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator.host.heartbeat import Beat, State
from orchestrator.serving.supervisor.monitoring.workers import Worker, measure_queued_s

STOPPED_S = 0.6
"""Time after which a stopped worker hangs. It is longer than one long check: a whole service may be
stopped and continued without any loss."""
MAX_LOOK_S = 0.5
"""Longest time between two checks that counts. After a longer time, this process was stopped,
too."""
STARVED = 10.0
"""After this many times its limit, any worker counts as hung, also one that waits for another
model."""


@dataclass
class _Step:
    """One step of a worker's work, until the worker starts the next."""

    beat: Beat
    is_stopped: bool
    queued_s: float
    seconds: float = 0.0


class Watchdog:
    """Compares the heartbeats of workers with the clock, from check to check.

    The time in which a worker waits for a core does not count: others use the machine.

    Args:
        read_beat: Returns the last heartbeat of a process.
        clock: Returns the time in seconds.
        measure_queued: Returns the seconds that a process has waited for a core.
    """

    def __init__(
        self,
        read_beat: Callable[[int], Beat],
        clock: Callable[[], float],
        measure_queued: Callable[[int], float] = measure_queued_s,
    ) -> None:
        self._read_beat, self._clock, self._measure_queued = read_beat, clock, measure_queued
        self._last_look_s = clock()
        self._steps: dict[int, _Step] = {}

    def find(self, workers: Iterable[Worker]) -> list[tuple[Worker, Beat, str]]:
        """Return the hung workers, each with its heartbeat and the reason."""
        now = self._clock()
        elapsed_s = min(now - self._last_look_s, MAX_LOOK_S)
        self._last_look_s = now
        steps = {worker.pid: self._follow(worker, elapsed_s) for worker in workers}
        self._steps = steps
        return [
            (worker, step.beat, reason)
            for worker in workers
            if (reason := self._hang_reason(worker, step := steps[worker.pid]))
        ]

    def _follow(self, worker: Worker, elapsed_s: float) -> _Step:
        beat = self._read_beat(worker.pid)
        step = self._steps.get(worker.pid)
        if step is None or step.beat != beat or step.is_stopped != worker.is_stopped:
            is_watched = beat.state is State.WORKING and beat.limit_s > 0
            queued_s = self._measure_queued(worker.pid) if is_watched else 0.0
            return _Step(beat, worker.is_stopped, queued_s)
        step.seconds += elapsed_s
        return step

    def _hang_reason(self, worker: Worker, step: _Step) -> str:
        """Return why a worker counts as hung; empty when it does not."""
        if worker.is_stopped:
            return "stopped" if step.seconds >= STOPPED_S else ""
        limit_s = step.beat.limit_s
        if step.beat.state is State.IDLE or not limit_s or step.seconds < limit_s:
            return ""
        if step.seconds < STARVED * limit_s:
            queued_s = self._measure_queued(worker.pid) - step.queued_s
            if step.beat.state is State.WAITING or step.seconds - queued_s < limit_s:
                return ""
        return f"hung for {step.seconds:.1f} s"
