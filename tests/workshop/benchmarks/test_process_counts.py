"""Which process does what, by its command line; and whether all are there."""

import subprocess

import pytest

from workshop.benchmarks.process_counts import Processes, find_processes
from workshop.benchmarks.processes import GATEWAY, TRITON

BEFORE = Processes({"yolo": frozenset({1, 2}), TRITON: frozenset({3}), GATEWAY: frozenset({4})})


@pytest.mark.parametrize(
    ("pids", "is_whole"),
    [
        pytest.param({1, 2}, False, id="the-victim-is-there"),
        pytest.param({2}, False, id="it-is-missing"),
        pytest.param({2, 5}, True, id="it-was-replaced"),
        pytest.param({2, 5, 6}, False, id="too-many"),
    ],
)
def test_it_is_whole_once_the_victim_was_replaced(pids: set[int], is_whole: bool) -> None:
    now = Processes({**BEFORE.pids, "yolo": frozenset(pids)})
    assert now.is_whole(BEFORE, [1]) == is_whole


def test_only_models_have_workers() -> None:
    assert BEFORE.models == ("yolo",)
    assert BEFORE.all == {1, 2, 3, 4}


def test_a_process_without_a_role_is_not_counted() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert find_processes(child.pid).all == frozenset()
        child.kill()
