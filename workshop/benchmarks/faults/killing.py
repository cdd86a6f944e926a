"""Kills workers at random, one after another."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from orchestrator.errors import ServerError
from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.service import Service, wait

PAUSE_S = 3.0
SEED = 0
CALLS, KILLS = 600, 4


class Killer:
    """Kills a worker at once and then every few seconds, but none while a worker is missing."""

    def __init__(self, service: Service, pause_s: float = PAUSE_S) -> None:
        self._service, self._pause_s = service, pause_s
        self._random = random.Random(SEED)
        self._is_over = threading.Event()
        self.killed: list[tuple[str, int]] = []

    @contextmanager
    def run(self) -> Iterator[None]:
        """Kill workers for the length of a `with` block; none when the pause is 0."""
        if self._pause_s:
            self.kill()
        thread = threading.Thread(target=self._drive)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _drive(self) -> None:
        while not self._is_over.wait(self._pause_s or None):  # 0: wait until the end
            is_whole = self._service.is_whole(pid for _, pid in self.killed)
            if is_whole and self._service.is_ready():
                self.kill()

    def kill(self) -> None:
        """Kill one random worker of any model."""
        processes = self._service.processes()
        workers = [
            (model, pid) for model in processes.models for pid in sorted(processes.pids[model])
        ]
        model, pid = self._random.choice(workers)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed.append((model, pid))


def kill_at_random(target: Target) -> Effect:
    """Kill workers until `CALLS` calls have ended and `KILLS` workers were killed."""
    killer, calls = Killer(target.service, PAUSE_S), target.load.calls
    began = len(calls)
    with killer.run(), suppress(ServerError):
        wait(lambda: len(calls) - began >= CALLS and len(killer.killed) >= KILLS, "kills")
    names = ", ".join(model for model, _ in killer.killed)
    victims = frozenset(pid for _, pid in killer.killed)
    return Effect(time.monotonic(), victims, (f"{len(killer.killed)} killed: {names}",))
