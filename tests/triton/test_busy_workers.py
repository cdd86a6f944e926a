"""The number of computing workers, which determines the threads of an inference."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.host.heartbeat import VARIABLE
from orchestrator.triton.busy_workers import LIST_EVERY_S, BusyWorkers
from tests.virtual_time import Clock

WORKER = """
import sys
from contextlib import ExitStack
from orchestrator.host.heartbeat import Heartbeat

heartbeat = Heartbeat(2.5, sys.argv[1])
states = ExitStack()
for line in sys.stdin:
    state = line.strip()
    if state == "idle":
        states.close()
    else:
        states.enter_context(heartbeat.wait() if state == "waits" else heartbeat.work(["a call"]))
    print(state, flush=True)
"""


class Worker:
    """Another process with a heartbeat."""

    def __init__(self, prefix: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, prefix],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, state: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        print(state, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline().strip() == state

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    return str(tmp_path / "heartbeat-")


@pytest.fixture
def worker(prefix: str) -> Iterator[Worker]:
    worker = Worker(prefix)
    worker.tell("idle")
    yield worker
    worker.kill()


def test_a_worker_that_computes_is_busy_until_it_waits_or_ends_its_call(
    prefix: str, worker: Worker
) -> None:
    other_workers = BusyWorkers(prefix, 2)
    assert other_workers.count() == 0
    worker.tell("works")
    assert other_workers.count() == 1
    worker.tell("waits")
    assert other_workers.count() == 0
    worker.tell("idle")
    assert other_workers.count() == 0


def test_a_worker_does_not_count_itself(prefix: str, worker: Worker) -> None:
    worker.tell("works")
    own = Path(f"{prefix}{worker.process.pid}").read_bytes()
    Path(f"{prefix}{os.getpid()}").write_bytes(own)
    assert BusyWorkers(prefix, 2).count() == 1


def test_workers_that_start_and_workers_that_are_killed_are_noticed(
    prefix: str, worker: Worker
) -> None:
    clock = Clock(100.0)
    other_workers = BusyWorkers(prefix, 2, clock)
    worker.tell("works")
    assert other_workers.count() == 1
    second = Worker(prefix)
    second.tell("works")
    assert other_workers.count() == 1
    clock.now_s += LIST_EVERY_S + 0.1
    assert other_workers.count() == 2
    second.kill()
    clock.now_s += LIST_EVERY_S + 0.1
    assert other_workers.count() == 1


def test_what_is_no_heartbeat_is_passed_over(prefix: str, worker: Worker) -> None:
    worker.tell("works")
    Path(f"{prefix}{worker.process.pid}.stack").write_text("Thread 0x1")
    Path(f"{prefix}{os.getppid()}").touch()
    assert BusyWorkers(prefix, 2).count() == 1


def test_without_heartbeats_nobody_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert BusyWorkers.of_server().count() == 0


@pytest.mark.parametrize(
    ("cores", "threads", "busy_counts"),
    [
        pytest.param(1, 1, [1, 2], id="one core"),
        pytest.param(2, 2, [1, 2], id="two cores"),
        pytest.param(4, 4, [2], id="four cores"),
        pytest.param(4, 8, [2], id="more threads than cores"),
        pytest.param(8, 4, [], id="cores enough"),
    ],
)
def test_an_inference_takes_one_thread_when_others_leave_half_of_its_cores(
    prefix: str, cores: int, threads: int, busy_counts: list[int]
) -> None:
    other_workers = BusyWorkers(prefix, cores)
    counts = []
    workers = [Worker(prefix), Worker(prefix)]
    for worker in workers:
        worker.tell("idle")
    for number in range(3):
        if number:
            workers[number - 1].tell("works")
        if other_workers.need_cores_of(threads):
            counts.append(number)
    for worker in workers:
        worker.kill()
    assert counts == busy_counts
