"""The rounds of a run, with a worker that answers at once."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pictures import Picture
from benchmarks.plan import IN_PROCESS, Key, Task
from benchmarks.session import Session, measure
from orchestrator.errors import ServerError

PICTURES = [Picture(name, b"", np.zeros((2, 2, 3), np.uint8)) for name in ("a", "b")]
LOAD = {
    "seconds": 1.0,
    "latencies_ms": [5.0],
    "errors": 0,
    "first_error": "",
    "plates": 1,
    "used": {"cpu_s": 0.5},
    "peaks": {"memory_bytes": 7},
}


class FakeWorker:
    """Answers as the worker does; raises `failure` instead of answer number `fails_at`."""

    def __init__(self, fails_at: int = -1, failure: BaseException | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.fails_at = fails_at
        self.failure = failure

    def ask(self, question: dict) -> dict:
        self.asked.append((question["do"], question["picture"]))
        if self.failure and len(self.asked) == self.fails_at:
            raise self.failure
        return {"bare": [{"stage": "yolo"}]} if question["do"] == "bare" else LOAD


class FakeStart:
    """Starts nothing; knows whether it was stopped."""

    def __init__(self, worker: FakeWorker) -> None:
        self.worker = worker
        self.is_stopped = False

    def __call__(self, task: Task, pictures: list[Picture]) -> AbstractContextManager[Session]:
        return self.opened(pictures)

    @contextmanager
    def opened(self, pictures: list[Picture]) -> Iterator[Session]:
        files = {picture.name: Path(f"{picture.name}.jpg") for picture in pictures}
        by_name = {picture.name: picture for picture in pictures}
        try:
            yield Session(None, self.worker, by_name, files)
        finally:
            self.is_stopped = True


def task(rounds: int = 2) -> Task:
    return Task(Path("out"), transports=(IN_PROCESS,), concurrencies=(1, 4), rounds=rounds)


def test_every_round_measures_every_cell_and_the_bounds() -> None:
    start = FakeStart(FakeWorker())
    record = measure(task(), PICTURES, start)
    assert {key: len(samples) for key, samples in record.samples.items()} == {
        Key(name, IN_PROCESS, count): 2 for name in "ab" for count in (1, 4)
    }
    assert {name: len(rounds) for name, rounds in record.bare.items()} == {"a": 2, "b": 2}
    assert (record.rounds, record.ended, record.server) == (2, "", None)


def test_figures_of_the_worker_become_a_sample() -> None:
    record = measure(task(rounds=1), PICTURES, FakeStart(FakeWorker()))
    sample = record.samples[Key("a", IN_PROCESS, 4)][0]
    assert (sample.throughput, sample.used["cpu_s"], sample.plates) == (1, 0.5, 1)


def test_progress_is_told(capsys) -> None:
    measure(task(rounds=1), PICTURES, FakeStart(FakeWorker()))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert told[-1].startswith("4/4  ")
    assert told[-1].endswith("1.0 pictures/s; about 0 s left")


def test_an_interrupt_keeps_what_there_is_and_stops_everything() -> None:
    start = FakeStart(FakeWorker(fails_at=5, failure=KeyboardInterrupt()))
    record = measure(task(), PICTURES, start)
    assert record.ended == "interrupted"
    assert sum(map(len, record.samples.values())) == 2  # after two bare stages; the third failed
    assert record.rounds == 0
    assert start.is_stopped


def test_an_early_interrupt_leaves_an_empty_record() -> None:
    start = FakeStart(FakeWorker(fails_at=1, failure=KeyboardInterrupt()))
    assert measure(task(), PICTURES, start).samples == {}
    assert start.is_stopped


def test_a_server_that_ends_later_ends_the_run() -> None:
    start = FakeStart(FakeWorker(fails_at=4, failure=ServerError("in-process: out of memory")))
    record = measure(task(), PICTURES, start)
    assert record.ended == "in-process: out of memory"
    assert sum(map(len, record.samples.values())) == 1


def test_a_server_that_ends_at_once_is_an_error() -> None:
    start = FakeStart(FakeWorker(fails_at=3, failure=ServerError("gone")))
    with pytest.raises(ServerError, match="gone"):
        measure(task(), PICTURES, start)
    assert start.is_stopped
