"""The calls of a soak run: good pictures in all ways, one bad call in ten, and their record.

The calls of a run are numbered, and the number decides which request is sent. So all runs of
the same length send the same requests, and every part of a run sends the same mixture.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workshop.benchmarks.load.closed_loop import Call, Outcome
from workshop.benchmarks.load.connections import (
    ANSWERED,
    DROPPED,
    UNREADABLE,
    Connection,
    Reply,
    read_texts,
)
from workshop.benchmarks.load.requests import Request
from workshop.benchmarks.soak.samples import Calls

MAX_DESCRIBED = 20
"""The number of wrong answers that are described in the report; all of them are counted."""
EVERY = 10
"""One of this many calls is bad."""


@dataclass(frozen=True)
class CheckedRequest:
    """A request, and the reply that it must get.

    Attributes:
        texts: The texts that the picture gets when it is sent alone.
        hang_up_s: Seconds after which the caller hangs up; it does not hang up when 0.
    """

    name: str
    request: Request
    texts: tuple[str, ...] = ()
    status: str = ANSWERED
    words: str = ""
    hang_up_s: float = 0.0

    @property
    def is_good(self) -> bool:
        return self.status == ANSWERED

    @property
    def outcome(self) -> str:
        """The name of its count in `Calls`, if its reply is right."""
        return {ANSWERED: "answered", DROPPED: "dropped"}.get(self.status, "refused")

    def find_error(self, reply: Reply) -> str:
        """Describe how a reply differs from the right one; empty when it does not."""
        if reply.status != self.status or self.words not in reply.error:
            got = f"{reply.status} {reply.error[:200]}".strip()
            return f"{self.name}: wanted {self.status} {self.words}".rstrip() + f", got {got}"
        try:
            texts = read_texts(self.request, reply) if self.is_good else ()
        except UNREADABLE as error:
            return f"{self.name}: wanted an answer, got {error!r}"
        right, got = (", ".join(some) or "no plate" for some in (self.texts, texts))
        return "" if texts == self.texts else f"{self.name}: wanted {right}, got {got}"


@dataclass(frozen=True)
class RequestMix:
    """The requests of a run, good and bad ones, in the order in which they are sent."""

    good: Sequence[CheckedRequest]
    bad: Sequence[CheckedRequest]

    def send(self, connection: Connection, number: int) -> Outcome:
        """Send the request of a call, and check its reply."""
        request = self.find(number)
        reply = connection.send(request.request, request.hang_up_s)
        error = request.find_error(reply)
        return Outcome(reply.status if error else ANSWERED, bool(error), error)

    def find(self, number: int) -> CheckedRequest:
        """Return the request of the call with this number, counted from 0."""
        turn, place = divmod(number, EVERY)
        if place == EVERY - 1:
            return self.bad[turn % len(self.bad)]
        return self.good[(number - turn) % len(self.good)]


def shuffle(good: Sequence[CheckedRequest], bad: Sequence[CheckedRequest]) -> RequestMix:
    """Shuffle both lists, in the same way each time, so that small and large pictures mix."""
    order = random.Random(0)
    return RequestMix(order.sample(good, len(good)), order.sample(bad, len(bad)))


@dataclass
class Record:
    """The record of all calls; any number of threads may write to it."""

    mix: RequestMix
    wrong: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _latencies_ms: list[float] = field(default_factory=list)
    _sampled: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, call: Call) -> None:
        """Record a call."""
        request = self.mix.find(call.number)
        with self._lock:
            self._counts["failed" if call.is_wrong else request.outcome] += 1
            if call.is_wrong and len(self.wrong) < MAX_DESCRIBED:
                self.wrong.append(call.error)
            if request.is_good and not call.is_wrong:
                self._latencies_ms.append(1e3 * call.waited_s)

    def sample(self) -> Calls:
        """Return the calls so far, with the latencies since the previous sample."""
        with self._lock:
            start, self._sampled = self._sampled, len(self._latencies_ms)
            return _add_up(self._counts, self._latencies_ms[start:])

    def add_up(self) -> Calls:
        """Return the calls so far, with the latencies of the whole run."""
        with self._lock:
            return _add_up(self._counts, self._latencies_ms)


def _add_up(counts: Counter[str], latencies_ms: list[float]) -> Calls:
    if not latencies_ms:
        return Calls(**counts)
    p50, p95 = np.percentile(latencies_ms, (50, 95))
    return Calls(**counts, p50_ms=float(p50), p95_ms=float(p95))
