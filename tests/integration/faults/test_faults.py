"""Deliberate faults in a real service: callers wait, and no call fails."""

import pytest

from workshop.benchmarks.fault_runs import choose
from workshop.benchmarks.faults import signals
from workshop.benchmarks.faults.callers import build_requests, render_crops, render_pictures
from workshop.benchmarks.faults.observation import Harness
from workshop.benchmarks.faults.registry import FAULTS

pytestmark = pytest.mark.nightly


def test_killed_workers_are_replaced_and_no_caller_sees_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signals, "CALLS", 60)
    monkeypatch.setattr(signals, "KILLS", 2)
    monkeypatch.setattr(signals, "PAUSE_S", 0.5)
    requests = build_requests(render_pictures(6), render_crops(6))
    harness = Harness(requests, each=1, before_s=1.0)
    kill, random_kills = harness.make(choose(FAULTS, ["kill-stn", "random-kills"]))
    for counts in (kill.counts, random_kills.counts):
        assert counts.answered == counts.sent > 0
        assert (counts.refused, counts.lost, counts.wrong) == ({}, 0, 0)
    assert kill.recover_s is not None
    assert random_kills.counts.sent >= 60
