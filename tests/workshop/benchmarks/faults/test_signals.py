"""Workers that are killed, and cases in which none is."""

import signal
import subprocess
from collections.abc import Iterable, Iterator

import pytest

from workshop.benchmarks.faults.signals import Killer
from workshop.benchmarks.processes import Processes


class OneWorker:
    """A service with one worker, which nobody replaces."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def processes(self) -> Processes:
        return Processes({"stn": frozenset({self.pid})})

    def is_ready(self) -> bool:
        return True

    def is_whole(self, victims: Iterable[int]) -> bool:
        return self.pid not in set(victims)


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


def test_the_first_is_killed_at_once_and_the_next_when_it_is_replaced(worker) -> None:
    killer = Killer(OneWorker(worker.pid), pause_s=0.001)
    with killer.run():
        assert worker.wait(60) == -signal.SIGKILL
    assert killer.killed == [("stn", worker.pid)]
    killer.kill()  # it has ended
    assert len(killer.killed) == 1


def test_without_a_pause_nobody_is_killed(worker) -> None:
    killer = Killer(OneWorker(worker.pid), pause_s=0)
    with killer.run():
        pass
    assert killer.killed == []
    assert worker.poll() is None
