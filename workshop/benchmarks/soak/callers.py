"""Callers that check every reply, and the record of their calls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import numpy as np

from workshop.benchmarks.load.closed_loop import Call, Outcome, Send
from workshop.benchmarks.load.connections import ANSWERED, Connection
from workshop.benchmarks.plan import Address
from workshop.benchmarks.soak.checked_requests import CheckedRequest, RequestMix
from workshop.benchmarks.soak.samples import Calls

MOST_DESCRIBED = 20
"""The number of wrong answers that are described in the report; all of them are counted."""


@contextmanager
def connect(gateway: Address, mix: RequestMix) -> Iterator[Send]:
    """Open one caller's connections. It sends the requests of a mix and checks every reply."""
    with closing(Connection(gateway.http, gateway.grpc)) as connection:

        def send(number: int) -> Outcome:
            wanted = mix.find(number)
            reply = connection.send(wanted.request, wanted.hang_up_s)
            error = wanted.find_error(reply)
            return Outcome(reply.status if error else ANSWERED, bool(error), error)

        yield send


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
            self._counts["failed" if call.is_wrong else _name_outcome(request)] += 1
            if call.is_wrong and len(self.wrong) < MOST_DESCRIBED:
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


def _name_outcome(request: CheckedRequest) -> str:
    if request.is_dropped:
        return "dropped"
    return "answered" if request.is_good else "refused"
