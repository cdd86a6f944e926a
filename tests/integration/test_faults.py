"""Faults made on purpose in a real service: callers wait, and notice nothing else."""

import pytest

from workshop.benchmarks.faults.__main__ import Harness, choose
from workshop.benchmarks.faults.answers import Options, run
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


def test_answers_are_right_while_workers_are_killed() -> None:
    report = run(Options(calls=100, pictures=12, each=1, pause_s=1.0))
    assert sum(report.killed.values()) > 0
    assert [one.wrong for one in report.counts.values()] == [0] * 4
    assert report.is_kept, report.failures
