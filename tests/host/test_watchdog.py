"""A process hangs if a step makes no progress although a core is free."""

import os
import subprocess
import sys

import pytest

from orchestrator.host.heartbeat import Beat, State, Watchdog
from orchestrator.host.subprocesses import measure_queued_s
from orchestrator.serving.supervisor.monitoring.workers import Worker
from tests.waiting import until

WORKING = Beat(State.WORKING, since=0.0, limit_s=2.5, calls=("a",))


class WatchdogStory:
    """A worker that is checked every quarter of a second."""

    def __init__(self, beat: Beat, *, queued_share: float = 0.0, state: str = "R") -> None:
        self.beat, self.queued_share, self.state = beat, queued_share, state
        self.now = self.queued_s = 0.0
        self.watchdog = Watchdog(lambda _: self.beat, lambda: self.now, lambda _: self.queued_s)

    def look(self) -> list[str]:
        worker = Worker(7, "stn", self.state)
        return [reason for _, _, reason in self.watchdog.find([worker])]

    def go_on(self, seconds: float, every_s: float = 0.25) -> list[str]:
        """Check the worker for a time; return the last result."""
        reasons = self.look()
        for _ in range(round(seconds / every_s)):
            self.now += every_s
            self.queued_s += every_s * self.queued_share
            reasons = self.look()
        return reasons


@pytest.mark.parametrize(
    ("queued_share", "hangs_after_s"),
    [
        pytest.param(0.0, 2.5, id="never: it loops, or waits for nothing"),
        pytest.param(0.5, 5.0, id="half the time"),
        pytest.param(0.875, 20.0, id="nearly always"),
        pytest.param(1.0, 25.0, id="always: it hangs at last"),
        pytest.param(4.0, 25.0, id="with several threads"),
    ],
)
def test_the_time_in_which_a_worker_waits_for_a_core_does_not_count(
    queued_share: float, hangs_after_s: float
) -> None:
    story = WatchdogStory(WORKING, queued_share=queued_share)
    assert story.go_on(hangs_after_s - 0.25) == []
    assert story.go_on(0.25) == [f"hung for {hangs_after_s} s"]


def test_a_busy_machine_is_told_by_the_kernel() -> None:
    (core, *_) = os.sched_getaffinity(0)
    loops = [
        subprocess.Popen(
            [sys.executable, "-c", "while True: pass"],
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        for _ in range(2)
    ]
    until(
        lambda: all(measure_queued_s(loop.pid) > 0.1 for loop in loops), "both to wait for a core"
    )
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.mark.parametrize(
    "beat",
    [
        pytest.param(Beat(State.IDLE, limit_s=2.5), id="idle"),
        pytest.param(Beat(State.WORKING), id="no limit"),
        pytest.param(Beat(State.WAITING, limit_s=2.5), id="waits for another model"),
    ],
)
def test_a_worker_that_need_not_get_on_does_not_hang(beat: Beat) -> None:
    assert WatchdogStory(beat).go_on(20) == []


def test_a_worker_that_waits_for_another_model_without_end_hangs_at_last() -> None:
    assert WatchdogStory(Beat(State.WAITING, limit_s=2.5)).go_on(25) == ["hung for 25.0 s"]


def test_a_new_step_begins_anew() -> None:
    story = WatchdogStory(WORKING)
    assert story.go_on(2.25) == []
    story.beat = Beat(State.WORKING, since=2.25, limit_s=2.5)
    assert story.go_on(2.25) == []


@pytest.mark.parametrize("beat", [WORKING, Beat()])
def test_a_stopped_worker_hangs_soon_whatever_it_was_doing(beat: Beat) -> None:
    story = WatchdogStory(beat, state="T")
    assert story.go_on(0.5) == []
    assert story.go_on(0.25) == ["stopped"]


def test_a_worker_that_goes_on_after_a_stop_does_not_hang() -> None:
    story = WatchdogStory(Beat(), state="T")
    assert story.go_on(0.5) == []
    story.state = "S"
    assert story.go_on(5) == []


def test_a_machine_that_stood_still_makes_nobody_hang() -> None:
    assert WatchdogStory(WORKING).go_on(60, every_s=30) == []
