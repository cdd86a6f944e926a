"""Which workers do not get on with their work: they are stopped, wait for nothing, or loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator.heartbeat import Beat, State
from orchestrator.server.workers import Worker

STOPPED_S = 0.6
"""More than one long look: whoever stops all of a service and lets it go on loses nothing."""
LONGEST_LOOK_S = 0.5
"""Time between two looks that counts: where it was longer, this process did not run either."""
LOOPS, WAITS = 0.35, 0.02
"""Of its limit, what a worker had of the cores: it loops, or it waits for what does not come. One
between wants cores that others have."""
STARVED = 10.0
"""Times its limit after which any worker hangs, one that waits for another model, too."""


@dataclass
class _Step:
    """One step of a worker's work, as long as it lasts."""

    beat: Beat
    is_stopped: bool
    cpu_s: float
    seconds: float = 0.0


class Hangs:
    """Compares what workers wrote down with the clock, from look to look.

    Args:
        read: Returns what a worker wrote down last, by its process.
        clock: Seconds.
    """

    def __init__(self, read: Callable[[int], Beat], clock: Callable[[], float]) -> None:
        self._read, self._clock = read, clock
        self._looked = clock()
        self._steps: dict[int, _Step] = {}

    def find(self, workers: Iterable[Worker]) -> list[tuple[Worker, Beat, str]]:
        """Return the workers that hang, with what they were doing, and how in words."""
        now = self._clock()
        passed_s = min(now - self._looked, LONGEST_LOOK_S)
        self._looked = now
        steps = {worker.pid: self._follow(worker, passed_s) for worker in workers}
        self._steps = steps
        found = ((worker, steps[worker.pid]) for worker in workers)
        return [
            (worker, step.beat, how) for worker, step in found if (how := _manner(worker, step))
        ]

    def _follow(self, worker: Worker, passed_s: float) -> _Step:
        beat = self._read(worker.pid)
        step = self._steps.get(worker.pid)
        if step is None or step.beat != beat or step.is_stopped != worker.is_stopped:
            return _Step(beat, worker.is_stopped, worker.cpu_s)
        step.seconds += passed_s
        return step


def _manner(worker: Worker, step: _Step) -> str:
    """Say how a worker hangs; nothing when it does not."""
    if worker.is_stopped:
        return "stopped" if step.seconds >= STOPPED_S else ""
    limit_s = step.beat.limit_s
    if step.beat.state is State.IDLE or not limit_s or step.seconds < limit_s:
        return ""
    had_s = worker.cpu_s - step.cpu_s
    is_starved = WAITS * limit_s < had_s < LOOPS * limit_s
    if (is_starved or step.beat.state is State.WAITING) and step.seconds < STARVED * limit_s:
        return ""
    return f"hung for {step.seconds:.1f} s"
