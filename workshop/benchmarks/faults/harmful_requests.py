"""Requests that cause a fault: one that hangs a worker, and those that break it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
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
    draw_marker,
)
from workshop.benchmarks.faults.observation import Act, Fault, Target
from workshop.benchmarks.faults.report import Effect, Promise
from workshop.benchmarks.load.connections import ANSWERED, Connection, Reply
from workshop.benchmarks.load.requests import Request, kserve_http, pixels
from workshop.benchmarks.processes import poll
from workshop.benchmarks.service import wait

TIMEOUT_S = 15.0
TOLD_WITHIN_S = 12.0
"""The time limit for the error: two workers hang. Each is found after 3 s in which it had a core,
thus after 4 s while callers keep all cores busy, and replaced in 2 s."""
AT_ONCE_S = 0.5


@dataclass(frozen=True)
class Attempt:
    """The reply to one such request, and the time that it took."""

    reply: Reply
    seconds: float

    def __str__(self) -> str:
        error = f": {self.reply.error}" if self.reply.error else ""
        return f"{self.reply.status} after {self.seconds:.1f} s{error}"

    @property
    def is_refused(self) -> bool:
        return self.reply.status[:1] in ("4", "5")


def send(address: str, request: Request, timeout_s: float = TIMEOUT_S) -> Attempt:
    """Send a request once, over a new connection."""
    with closing(Connection(address, timeout_s=timeout_s)) as connection:
        began = time.monotonic()
        reply = connection.send(request)
        return Attempt(reply, time.monotonic() - began)


def describe(attempts: Sequence[Attempt], kind: str) -> tuple[str, ...]:
    """Describe the replies: how many requests were answered, and the first failure."""
    others = [attempt for attempt in attempts if attempt.reply.status != ANSWERED]
    counts = f"{len(attempts)} {kind}: {len(attempts) - len(others)} answered, {len(others)} not"
    return (counts, *(f"the first of them: {attempt}" for attempt in others[:1]))


def find_blamed(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Say how many good pictures were rejected as bad."""
    blamed = [attempt for attempt in attempts if attempt.reply.status.startswith("4")]
    return (f"{len(blamed)} good pictures were called bad",) if blamed else ()


def hang(target: Target) -> Effect:
    """Send the call that hangs a worker, and send it again after its result."""
    request, address = kserve_http([pixels(draw_marker())]), target.service.gateway.http
    since = time.monotonic()
    first, second = send(address, request), send(address, request)
    failures = []
    if not first.is_refused or first.seconds > TOLD_WITHIN_S:
        failures.append("the hanging request got no error")
    if not second.is_refused or second.seconds > AT_ONCE_S:
        failures.append("the hanging request was admitted again")
    notes = (f"the call that hung: {first}", f"the same again: {second}")
    return Effect(since, notes=notes, failures=tuple(failures))


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
    failures: list[bool] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.probe}: {sum(self.failures)} of {len(self.failures)} probes failed"


@contextmanager
def watch_probes(address: str) -> Iterator[Sequence[Looks]]:
    """Ask for the health of a service all the time, for the length of a `with` block."""
    looks = [Looks(name) for name in PROBES]

    def look() -> None:
        for probe_looks in looks:
            try:
                probe(f"{address}/{probe_looks.probe}", 1.0)
                probe_looks.failures.append(False)
            except ProbeError:
                probe_looks.failures.append(True)

    with poll(look, LOOK_S):
        yield looks
