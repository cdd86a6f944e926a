"""The rounds of a run with a worker that answers at once, and a server that is this process."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.plan import IN_PROCESS, Key, Plan
from workshop.benchmarks.bench.session import Session, Target, measure
from workshop.benchmarks.load.closed_loop import Outcome
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.pictures import Picture

PICTURES = [Picture(name, b"", np.zeros((2, 2, 3), np.uint8)) for name in ("a", "b")]
LOAD = Round(1.0, (5.0,), plates=1, cpu_s=Cpu(server=0.5))


class FakeWorker:
    """Answers as the worker does; raises `failure` instead of answer number `fails_at`."""

    def __init__(self, fails_at: int = -1, failure: BaseException | None = None) -> None:
        self.asked = 0
        self.fails_at = fails_at
        self.failure = failure

    def load(self, file_bytes: bytes, concurrency: int, seconds: float) -> Round:
        self.asked += 1
        if self.failure and self.asked == self.fails_at:
            raise self.failure
        return LOAD


class FakeStart:
    """Starts nothing; knows whether it was stopped."""

    def __init__(self, worker: FakeWorker) -> None:
        self.worker = worker
        self.is_stopped = False

    @contextmanager
    def __call__(self, plan: Plan, pictures: list[Picture]) -> Iterator[Session]:
        try:
            yield Session({}, self.worker, {picture.name: picture for picture in pictures})
        finally:
            self.is_stopped = True


def plan(rounds: int = 2) -> Plan:
    return Plan(out=Path("out"), transports=(IN_PROCESS,), concurrencies=(1, 4), rounds=rounds)


def test_every_round_measures_every_cell() -> None:
    start = FakeStart(FakeWorker())
    results = measure(plan(), PICTURES, start)
    assert results.rounds == {
        Key(name, IN_PROCESS, count): [LOAD] * 2 for name in "ab" for count in (1, 4)
    }
    assert (results.rounds_done, results.end_reason, results.server) == (2, "", None)


def test_an_interrupt_keeps_what_there_is_and_stops_everything() -> None:
    start = FakeStart(FakeWorker(fails_at=3, failure=KeyboardInterrupt()))
    results = measure(plan(), PICTURES, start)
    assert results.end_reason == "interrupted"
    assert sum(map(len, results.rounds.values())) == 2
    assert results.rounds_done == 0
    assert start.is_stopped


def test_a_server_that_ends_later_ends_the_run() -> None:
    start = FakeStart(FakeWorker(fails_at=2, failure=ServerError("in-process: out of memory")))
    results = measure(plan(), PICTURES, start)
    assert results.end_reason == "in-process: out of memory"
    with pytest.raises(ServerError, match="gone"):
        measure(plan(), PICTURES, FakeStart(FakeWorker(1, ServerError("gone"))))
    assert sum(map(len, results.rounds.values())) == 1


def burn(number: int) -> Outcome:
    """Use more CPU time than the hundredth of a second in which the kernel counts it."""
    until = time.process_time() + 0.03
    while time.process_time() < until:
        pass
    return Outcome(plates=1)


def test_a_server_is_measured_with_its_processes() -> None:
    target = Target(lambda picture: nullcontext(burn), lambda: frozenset({os.getpid()}))
    result = target.measure(PICTURES[0], 2, 0.1)
    assert (result.plates, result.errors) == (1, 0)
    assert len(result.latencies_ms) >= 2
    assert min(result.cpu_s.server, result.cpu_s.client) > 0
    assert result.peaks.memory_bytes > 10_000_000


def test_a_server_that_has_ended_ends_the_measurement() -> None:
    target = Target(lambda picture: nullcontext(burn), describe_end=lambda: "it is gone")
    with pytest.raises(ServerError, match="it is gone"):
        target.measure(PICTURES[0], 1, 0.1)
