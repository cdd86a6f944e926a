"""A worker that died or hangs is told of, ended, and its model replaced."""

import json
import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.supervisor import worker_monitor
from orchestrator.supervisor.crash_report import ModelReloaded, WorkerDeath
from orchestrator.supervisor.server_log import ServerLog
from orchestrator.supervisor.worker_monitor import WorkerMonitor
from orchestrator.supervisor.workers import Worker, Workers
from orchestrator.system.heartbeat import State, read
from tests.supervisor.standing_in import start_worker
from tests.waiting import until

WORKER = """
import sys, time
from orchestrator.system.heartbeat import Heartbeat
heartbeat = Heartbeat.of_model({"parameters": {"hang_s": {"string_value": "0.5"}}})
def loop():
    print(flush=True)
    while True: pass
def idle():
    print(flush=True)
    time.sleep(600)
"""
LOOPS = f"{WORKER}\nwith heartbeat.work(['gate-7#1-2'], '640x480'): loop()"
IDLES = f"{WORKER}\nidle()"


@dataclass
class Scripted:
    """Stands for what replaces models: notes which, and fails where it was told to."""

    begun: list[tuple[str, bool]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    fault: ServerError | None = None
    is_slow: bool = False

    def begin(self, model: str, *, has_others: bool) -> None:
        self.begun.append((model, has_others))

    def finish(self) -> list[str]:
        if self.fault:
            raise self.fault
        done, self.done = self.done, []
        return done

    def is_under_way(self, _model: str) -> bool:
        return self.is_slow

    def close(self) -> None:
        """Keep nothing open."""


class Own(Workers):
    """Those of one test: this process has other children, a server of other tests among them."""

    def __init__(self, children: list[subprocess.Popen]) -> None:
        super().__init__(os.getpid())
        self.children = children

    def alive(self) -> list[Worker]:
        return self.of_mine(super().alive())

    def dead(self) -> list[Worker]:
        return self.of_mine(super().dead())

    def of_mine(self, workers: list[Worker]) -> list[Worker]:
        mine = {child.pid for child in self.children}
        return [worker for worker in workers if worker.pid in mine]


@dataclass
class Story:
    """This process as a server with one worker.

    Attributes:
        prefix: Prefix of the heartbeat files that workers write.
        told: Deaths that the care has reported.
        renewed: Models whose new workers the care has reported.
    """

    prefix: str
    replacing: Scripted = field(default_factory=Scripted)
    told: list[WorkerDeath] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    children: list[subprocess.Popen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.care = WorkerMonitor(
            Own(self.children), self.replacing, prefix=self.prefix, log=ServerLog(), tell=self.note
        )

    def note(self, event: WorkerDeath | ModelReloaded) -> None:
        if isinstance(event, WorkerDeath):
            self.told.append(event)
        else:
            self.renewed.append(event.model)

    def run(self, code: str) -> subprocess.Popen:
        """Start a worker; it has begun what it does when this returns."""
        child = start_worker(code, PLATES_HEARTBEATS=self.prefix, PYTHONPATH=str(Path.cwd()))
        child.stdout.readline()
        self.children.append(child)
        return child


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    one = Story(str(tmp_path / "beat_"))
    yield one
    for child in one.children:
        child.kill()
        child.stdout.close()
        child.wait()


def test_a_worker_that_works_is_left_alone(story: Story) -> None:
    story.run(IDLES)
    assert story.care.look()
    assert (story.told, story.replacing.begun) == ([], [])


def test_a_killed_worker_is_told_of_once_and_its_model_replaced(story: Story, caplog) -> None:
    worker, other = story.run(IDLES), story.run(IDLES)
    assert story.care.look()
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    with caplog.at_level(logging.ERROR):
        assert story.care.look()
        assert story.care.look()
    (death,) = story.told
    assert (death.model, death.pid, death.how) == ("stn", worker.pid, "SIGKILL")
    assert json.loads(caplog.messages[0])["event"] == "worker died"
    assert not death.is_last
    assert story.replacing.begun == [("stn", True)]
    assert other.poll() is None
    assert story.renewed == []
    story.replacing.done = ["stn"]
    assert story.care.look()
    assert story.renewed == ["stn"]


def test_an_old_worker_that_dies_while_its_model_is_replaced_is_replaced_already(
    story: Story,
) -> None:
    first, second = story.run(IDLES), story.run(IDLES)
    story.care.look()
    for worker in (first, second):
        worker.kill()
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        assert story.care.look()
        story.replacing.is_slow = True
    story.replacing.is_slow, story.replacing.done = False, ["stn"]
    assert story.care.look()
    assert story.replacing.begun == [("stn", True)]
    assert [death.pid for death in story.told] == [first.pid, second.pid]
    assert story.renewed == ["stn"]


def test_a_new_worker_that_dies_while_its_model_is_replaced_has_it_replaced_again(
    story: Story,
) -> None:
    worker = story.run(IDLES)
    story.care.look()
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    story.care.look()
    second = story.run(IDLES)
    story.replacing.is_slow = True
    story.care.look()
    second.kill()
    os.waitid(os.P_PID, second.pid, os.WEXITED | os.WNOWAIT)
    assert story.care.look()
    assert story.replacing.begun == [("stn", False)]
    story.replacing.is_slow, story.replacing.done = False, ["stn"]
    assert story.care.look()
    assert story.replacing.begun == [("stn", False)] * 2
    assert [death.is_last for death in story.told] == [True, True]
    assert story.renewed == []  # the second one's successor is still to come


def test_replaced_workers_that_triton_leaves_are_ended_without_a_word(story: Story) -> None:
    worker, other = story.run(IDLES), story.run(IDLES)
    story.care.look()
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    story.care.look()
    story.replacing.done = ["stn"]
    until(lambda: story.care.look() and ends(other), "the old worker away")
    assert story.care.look()
    assert len(story.told) == 1
    assert story.replacing.begun == [("stn", True)]


def ends(child: subprocess.Popen) -> bool:
    """Tell whether a child has ended, and leave it to be reaped."""
    return bool(os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))


def test_a_server_that_lost_many_workers_is_worn(story: Story, monkeypatch) -> None:
    monkeypatch.setattr(worker_monitor, "MOST_DEATHS", 2)
    for _ in range(2):
        assert not story.care.is_worn()
        worker = story.run(IDLES)
        story.care.look()
        worker.kill()
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        story.care.look()
    assert not story.care.is_worn()  # before the last is replaced
    story.replacing.done = ["stn"]
    story.care.look()
    assert story.care.is_worn()


def test_a_worker_that_loops_is_found_asked_where_it_is_and_ended(story: Story) -> None:
    worker = story.run(LOOPS)
    until(lambda: not story.care.look() or story.told, "a worker that hangs")
    (death,) = story.told
    assert death.how.startswith("hung for")
    assert (death.beat.calls, death.beat.picture) == (("gate-7#1-2",), "640x480")
    assert death.blamed == ("gate-7#1-2",)
    assert "in loop" in death.stack
    assert os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT).si_status == signal.SIGKILL
    assert story.care.look()
    assert len(story.told) == 1
    assert story.replacing.begun == [("stn", False)]


def test_a_stopped_worker_is_ended_and_nobody_blamed(story: Story) -> None:
    worker = story.run(LOOPS.replace('"0.5"', '"0"'))
    worker.send_signal(signal.SIGSTOP)
    until(lambda: not story.care.look() or story.told, "a stopped worker")
    (death,) = story.told
    assert (death.how, death.blamed) == ("stopped", ())
    assert read(story.prefix, worker.pid).state is State.WORKING


def test_a_server_whose_model_cannot_be_loaded_must_be_started_again(story: Story) -> None:
    story.replacing.fault = ServerError("stn/load: no such file")
    assert not story.care.look()


def test_so_must_one_whose_worker_nobody_knows(story: Story) -> None:
    worker = story.run("import sys; print(flush=True); sys.stdout.close(); import os; os._exit(1)")
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert not story.care.look()


@pytest.mark.parametrize(
    ("code", "is_idle"),
    [
        pytest.param(IDLES, True, id="idle"),
        pytest.param(LOOPS, False, id="works"),
        pytest.param("import time; print(flush=True); time.sleep(600)", False, id="does not say"),
    ],
)
def test_a_server_is_idle_where_each_worker_says_so(story: Story, code: str, is_idle: bool) -> None:
    story.run(code)
    assert story.care.is_idle() is is_idle
