"""Faults inside a worker: an access to memory that is not there, and a lack of memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import numpy as np

from orchestrator.contract import DETECTOR, MODEL
from orchestrator.errors import ServerError
from orchestrator.host.probe import ProbeError, probe
from workshop.benchmarks.faults.breaking import (
    ACCESS_PX,
    DETECTOR_PX,
    LACK_S,
    MEMORY_PX,
    PIPELINE_PX,
)
from workshop.benchmarks.faults.harmful_requests import Attempt, send
from workshop.benchmarks.faults.observation import Act, Fault, Target
from workshop.benchmarks.faults.report import Effect, Promise
from workshop.benchmarks.load.connections import ANSWERED
from workshop.benchmarks.load.requests import kserve_http, pixels
from workshop.benchmarks.processes import poll
from workshop.benchmarks.service import wait

RECOVER_S = 60.0
"""The time limit for the recovery; on a GPU a new worker makes a CUDA context first."""
TOLD_S = 40.0
"""The timeout of the request that breaks workers; a second worker is tried, and may be new."""
PROBES = ("healthz", "readyz")
LOOK_S = 0.1
HEIGHTS = {MODEL: PIPELINE_PX, DETECTOR: DETECTOR_PX}


def list_worker_faults(setting: str) -> list[Fault]:
    """Return the faults inside workers, for services of a setting."""
    faults = []
    for model, height in HEIGHTS.items():
        access = break_worker(model, (height, ACCESS_PX), find_no_rejection)
        memory = break_worker(model, (height, MEMORY_PX), find_no_lack)
        faults += [
            Fault(f"access-{model}", f"a wrong access to memory in `{model}`", setting,
                  Promise(recover_s=RECOVER_S), access),
            Fault(f"memory-{model}", f"{LACK_S:.0f} s without memory in `{model}`", setting,
                  Promise(recover_s=RECOVER_S), memory),
        ]  # fmt: skip
    return faults


def break_worker(
    model: str, hw: tuple[int, int], find_failures: Callable[[Attempt], tuple[str, ...]]
) -> Act:
    """Return an action that sends a picture which breaks a worker, and watches the probes."""
    request = kserve_http([pixels(np.zeros((*hw, 3), np.uint8))])

    def act(target: Target) -> Effect:
        service = target.service
        before, since = service.processes().pids[model], time.monotonic()
        with watch_probes(service.gateway.http) as looks:
            attempt = send(service.gateway.http, request, TOLD_S)
            dead = before - service.processes().pids.get(model, frozenset())
            with suppress(ServerError):
                wait(lambda: service.is_whole(dead) and service.is_ready(), "workers", RECOVER_S)
        notes = (f"the request: {attempt}", *map(str, looks))
        return Effect(since, dead, notes, find_failures(attempt))

    return act


def find_no_rejection(attempt: Attempt) -> tuple[str, ...]:
    """Find fault with a service that did not reject a request that ends its workers."""
    return () if attempt.is_refused else (f"wanted a rejection, got {attempt}",)


def find_no_lack(attempt: Attempt) -> tuple[str, ...]:
    """Find fault with a service that did not answer, but only once there was memory again."""
    is_right = attempt.reply.status == ANSWERED and attempt.seconds >= LACK_S
    return () if is_right else (f"wanted an answer after {LACK_S:.0f} s and more, got {attempt}",)


@dataclass
class Looks:
    """The results of one health probe over some time."""

    probe: str
    failed: list[bool] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.probe}: {sum(self.failed)} of {len(self.failed)} probes failed"


@contextmanager
def watch_probes(address: str) -> Iterator[Sequence[Looks]]:
    """Ask for the health of a service all the time, for the length of a `with` block."""
    looks = [Looks(name) for name in PROBES]

    def look() -> None:
        for probe_looks in looks:
            try:
                probe(f"{address}/{probe_looks.probe}", 1.0)
                probe_looks.failed.append(False)
            except ProbeError:
                probe_looks.failed.append(True)

    with poll(look, LOOK_S):
        yield looks
