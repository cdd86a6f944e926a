"""A worker that died or hangs is reported and killed, and its model is loaded again."""

import json
import logging
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.host.heartbeat import ASK, Beat, Heartbeats, State
from orchestrator.serving.protocol.gateway_events import WorkerDied, WorkersReplaced
from orchestrator.serving.supervisor.monitoring import worker_monitor
from orchestrator.serving.supervisor.monitoring.server_log import ServerLog
from orchestrator.serving.supervisor.monitoring.worker_monitor import RETIRED_S, WorkerMonitor
from orchestrator.serving.supervisor.monitoring.workers import SERVER
from tests.serving.supervisor.monitoring.monitored_workers import (
    IDLE,
    FakeReload,
    FakeWorkers,
    MonitorStory,
)
from tests.serving.supervisor.monitoring.worker_processes import start_worker
from tests.waiting import until

WORKING = Beat(State.WORKING, limit_s=2.5, calls=("gate-7#1-2",))


@pytest.fixture
def story() -> MonitorStory:
    """A server with the workers 1 and 2 of one model."""
    story = MonitorStory()
    story.workers.add(1)
    story.workers.add(2)
    return story


def test_workers_that_work_are_left_alone(story: MonitorStory) -> None:
    story.check_for(1)
    assert (story.events, story.reload.starts, story.signals) == ([], [], [])


def test_a_dead_worker_is_reported_once_and_its_model_loaded_again(
    story: MonitorStory, caplog
) -> None:
    with caplog.at_level(logging.ERROR):
        story.lose(1)
        story.check_for(1)
    assert story.events == [WorkerDied("stn", "SIGKILL", is_last=False)]
    (line,) = caplog.messages
    assert (json.loads(line)["pid"], json.loads(line)["stack"]) == (1, "stack of 1")
    assert story.reload.starts == [("stn", True)]
    assert story.signals == []
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    assert story.events[1:] == [WorkersReplaced("stn")]


def test_an_old_worker_that_dies_during_the_reload_needs_no_other(story: MonitorStory) -> None:
    story.lose(1)
    story.lose(2)
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    assert story.reload.starts == [("stn", True)]
    assert story.events == [
        WorkerDied("stn", "SIGKILL", is_last=False),
        WorkerDied("stn", "SIGKILL", is_last=True),
        WorkersReplaced("stn"),
    ]


def test_a_new_worker_that_dies_during_the_reload_needs_another(story: MonitorStory) -> None:
    story.lose(1)
    story.workers.add(3)
    story.lose(3)
    assert story.reload.starts == [("stn", True)]
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    assert story.reload.starts == [("stn", True), ("stn", True)]
    assert WorkersReplaced("stn") not in story.events  # the successor is still to come
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    assert story.events[-1] == WorkersReplaced("stn")


def test_replaced_workers_that_triton_leaves_are_killed_without_a_report(
    story: MonitorStory,
) -> None:
    story.lose(1)
    story.workers.add(3)
    story.reload.loaded_models = ["stn"]
    story.check_for(RETIRED_S)
    assert story.signals == []
    story.check_for(0.5)
    assert story.signals == [(2, signal.SIGKILL)]
    story.lose(2)
    assert len(story.events) == 2


def test_a_replaced_worker_with_a_call_is_not_killed_before_its_end(story: MonitorStory) -> None:
    story.heartbeats.beats[2] = replace(WORKING, limit_s=0)
    story.lose(1)
    story.reload.loaded_models = ["stn"]
    story.check_for(RETIRED_S + 1)
    assert story.signals == []
    story.heartbeats.beats[2] = IDLE
    story.check_for(RETIRED_S + 0.5)
    assert story.signals == [(2, signal.SIGKILL)]


def test_a_replaced_worker_that_triton_ends_is_not_reported(story: MonitorStory) -> None:
    story.lose(1)
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    story.lose(2)
    assert len(story.events) == 2
    assert story.reload.starts == [("stn", True)]


def test_a_server_that_lost_many_workers_needs_a_restart(story: MonitorStory, monkeypatch) -> None:
    monkeypatch.setattr(worker_monitor, "MAX_DEATHS", 2)
    story.lose(1)
    assert not story.monitor.needs_restart()
    story.lose(2)
    assert not story.monitor.needs_restart()  # before the last is replaced
    story.reload.loaded_models = ["stn"]
    story.check_for(0.25)
    assert story.monitor.needs_restart()


def test_a_hung_worker_is_asked_for_its_stack_and_killed(story: MonitorStory) -> None:
    story.heartbeats.beats[1] = WORKING
    story.check_for(0.25 + 2.5)
    assert story.signals == [(1, ASK), (1, signal.SIGKILL)]
    assert story.events == [WorkerDied("stn", "hung for 2.5 s", ("gate-7#1-2",), is_last=False)]
    story.check_for(2.5)
    assert len(story.events) == 1


def test_a_stopped_worker_is_killed_and_its_request_is_no_suspect(story: MonitorStory) -> None:
    story.heartbeats.beats[1] = WORKING
    story.workers.add(1, state="T")
    story.workers.add(2, state="T")
    story.check_for(1)
    assert story.signals == [(1, signal.SIGKILL), (2, signal.SIGKILL)]
    assert story.events[0] == WorkerDied("stn", "stopped", is_last=True)


@pytest.mark.parametrize("model", [pytest.param("", id="unknown"), SERVER])
def test_a_process_that_cannot_be_replaced_alone_needs_a_new_server(model: str) -> None:
    story = MonitorStory()
    story.workers.add(7, model)
    story.workers.die(7)
    assert not story.monitor.check()


NO_MEMORY = ServerError("stn/load: no shared memory")


def test_a_model_without_workers_that_cannot_be_loaded_needs_a_new_server(
    story: MonitorStory,
) -> None:
    story.lose(1)
    story.lose(2)
    story.reload.errors = {"stn": NO_MEMORY}
    assert not story.monitor.check()


def test_a_model_that_cannot_be_loaded_keeps_its_other_workers_and_is_tried_again(
    story: MonitorStory, caplog
) -> None:
    story.lose(1)
    story.reload.errors = {"stn": NO_MEMORY}
    story.check_for(0.75)
    assert story.reload.starts == [("stn", True)]
    assert caplog.messages[-1] == (
        "stn/load: no shared memory; its other workers answer, and it is loaded again in 1 s"
    )
    story.check_for(0.5)
    assert story.reload.starts == [("stn", True)] * 2
    story.reload.loaded_models = ["stn"]
    story.check_for(5)
    assert story.events[-1] == WorkersReplaced("stn")
    assert story.reload.starts == [("stn", True)] * 2


def test_the_pauses_of_a_model_that_cannot_be_loaded_grow(story: MonitorStory) -> None:
    story.lose(1)
    for number, pause_s in enumerate((1, 2, 4), start=1):
        story.reload.errors = {"stn": NO_MEMORY}
        story.check_for(pause_s)
        assert len(story.reload.starts) == number
        story.check_for(0.25)
        assert len(story.reload.starts) == number + 1


def test_a_worker_that_died_in_a_failed_start_is_not_replaced_before_the_pause(
    story: MonitorStory,
) -> None:
    story.lose(1)
    story.workers.add(3)
    story.reload.errors = {"stn": NO_MEMORY}
    story.check_for(0.25)
    story.lose(3)
    assert story.reload.starts == [("stn", True)]


def test_the_last_worker_is_replaced_at_once_after_a_failed_start(story: MonitorStory) -> None:
    story.lose(1)
    story.reload.errors = {"stn": NO_MEMORY}
    story.check_for(0.25)
    story.lose(2)
    assert story.reload.starts == [("stn", True), ("stn", False)]


@pytest.mark.parametrize(
    ("beats", "is_idle"),
    [
        pytest.param({1: IDLE, 2: IDLE}, True, id="idle"),
        pytest.param({1: IDLE, 2: WORKING}, False, id="one works"),
        pytest.param({1: IDLE}, False, id="one has no heartbeat"),
    ],
)
def test_a_server_is_idle_when_each_worker_says_so(
    story: MonitorStory, beats: dict[int, Beat], is_idle: bool
) -> None:
    story.heartbeats.beats = beats
    assert story.monitor.is_idle() is is_idle


LOOPS = """
from orchestrator.host.heartbeat import Heartbeat
heartbeat = Heartbeat.of_model({"parameters": {"hang_s": {"string_value": "0.2"}}})
def loop():
    print(flush=True)
    while True: pass
with heartbeat.work(["gate-7#1-2"], "640x480"): loop()
"""


def test_a_process_that_loops_is_killed_and_its_stack_is_in_the_log(tmp_path, caplog) -> None:
    prefix = str(tmp_path / "beat_")
    workers, events = FakeWorkers(), []
    monitor = WorkerMonitor(
        workers, FakeReload(), heartbeats=Heartbeats(prefix), log=ServerLog(), notify=events.append
    )
    with start_worker(LOOPS, PLATES_HEARTBEATS=prefix, PYTHONPATH=str(Path.cwd())) as child:
        child.stdout.readline()
        workers.add(child.pid)
        until(lambda: not monitor.check() or events, "a hung worker")
        exit_info = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert exit_info.si_status == signal.SIGKILL
    (event,) = events
    assert event.suspects == ("gate-7#1-2",)
    assert "in loop" in caplog.text
