"""Counts the workers of a server that compute at this moment, from their heartbeats."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from orchestrator.host.heartbeat import VARIABLE, State, state_of
from orchestrator.host.resources import usable_cores
from orchestrator.host.subprocesses import PROC

LIST_EVERY_S = 1.0
"""Age of the list of workers after which it is made again: workers end, and others start."""


class BusyWorkers:
    """The other workers of this server. Asking which of them compute takes microseconds.

    Args:
        prefix: Prefix of the paths of the heartbeats; None if no worker writes any.
        cores: Cores that all workers share.
        clock: Returns the time in seconds.
        hold_s: Time for which cores that were once needed still count as needed. Workers under
            load are idle for some milliseconds between two calls.
    """

    def __init__(
        self,
        prefix: str | None,
        cores: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        hold_s: float = 0.0,
    ) -> None:
        self._prefix, self._cores, self._clock, self._hold_s = prefix, cores, clock, hold_s
        self._listed = self._needed = float("-inf")
        self._heartbeats: dict[str, mmap.mmap] = {}  # by process id

    @classmethod
    def of_server(cls, hold_s: float = 0.0) -> BusyWorkers:
        """Return the workers of the server that started this process."""
        return cls(os.environ.get(VARIABLE), usable_cores(), hold_s=hold_s)

    def need_cores_of(self, threads: int) -> bool:
        """Tell whether half of an inference's threads, or more, would have no core of their own."""
        free = self._cores - self.count()
        now = self._clock()
        if 2 * free <= min(threads, self._cores):
            self._needed = now
            return True
        return now - self._needed < self._hold_s

    def count(self) -> int:
        """Return how many other workers compute. A worker that waits for another does not."""
        if self._prefix and self._clock() - self._listed > LIST_EVERY_S:
            self._heartbeats = _open_others(Path(self._prefix), self._heartbeats)
            self._listed = self._clock()
        return sum(state_of(heartbeat) == State.WORKING for heartbeat in self._heartbeats.values())


def _open_others(prefix: Path, open_heartbeats: dict[str, mmap.mmap]) -> dict[str, mmap.mmap]:
    """Return the heartbeats of the other workers that live, by process id."""
    heartbeats = {}
    for path in prefix.parent.glob(f"{prefix.name}*"):
        pid = path.name.removeprefix(prefix.name)
        if not pid.isdigit() or pid == str(os.getpid()) or not (PROC / pid).exists():
            continue  # a worker that was killed leaves its last heartbeat
        with suppress(OSError, ValueError):  # the worker is just starting or ending
            heartbeats[pid] = open_heartbeats.get(pid) or _map(path)
    return heartbeats


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
