"""Faults made on purpose in a real service: callers wait, and notice nothing else."""

import pytest

from workshop.benchmarks.faults import killing
from workshop.benchmarks.faults.__main__ import Harness, choose
from workshop.benchmarks.faults.report import Row


@pytest.fixture(scope="module")
def killed() -> Row:
    """A worker of STN killed under load."""
    (row,) = Harness(each=1, pictures=6).make(choose(["kill-stn"]))
    return row


def test_a_killed_worker_is_replaced_and_no_caller_sees_an_error(killed: Row) -> None:
    assert killed.counts.sent > 0
    assert (killed.counts.refused, killed.counts.lost, killed.counts.wrong) == ({}, 0, 0)
    assert killed.recover_s is not None


def test_answers_are_right_while_workers_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killing, "CALLS", 100)
    monkeypatch.setattr(killing, "KILLS", 2)
    (row,) = Harness(each=1, pictures=12).make(choose(["random-kills"]))
    assert row.counts.answered == row.counts.sent >= 100
    assert row.counts.wrong == 0
