"""Sends the requests that cause a fault. They are no part of the load: each is counted apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from workshop.benchmarks.faults.breaking import draw_marker
from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.load.connections import ANSWERED, Connection, Reply
from workshop.benchmarks.load.requests import Request, kserve_http, pixels

TIMEOUT_S = 15.0
TOLD_WITHIN_S = 10.0
"""The time limit for the error: two workers hang, each is found in 3 s and replaced in 2 s."""
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
