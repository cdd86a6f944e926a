"""Processes by role: their resources, and those that ended."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workshop.benchmarks.holding import holder, parent_and_child
from workshop.benchmarks.soak.samples import (
    Calls,
    HeldResources,
    MeasuredService,
    Sample,
    find_replaced,
    find_role,
    measure,
    parse_own_memory,
)

GONE = 2**22  # past every process number
ROLLUP = """\
56226bec9000-7ffcb4619000 ---p 00000000 00:00 0                          [rollup]
Rss:                1752 kB
Pss:                 234 kB
Pss_Anon:            112 kB
Pss_File:            122 kB
Pss_Shmem:            50 kB
SwapPss:              30 kB
"""


@pytest.fixture
def helper() -> Iterator[tuple[int, int]]:
    """A process that looks like the gateway, and its child, that looks like nothing."""
    with parent_and_child("orchestrator.serving.gateway") as pids:
        yield pids


def test_a_helper_has_the_role_of_its_parent(helper: tuple[int, int]) -> None:
    parent, child = helper
    assert find_role(child, os.getpid()) == find_role(parent, os.getpid()) == "gateway"


def test_a_process_without_a_role_counts_as_the_supervisor(helper: tuple[int, int]) -> None:
    _, child = helper
    assert find_role(child, child) == find_role(GONE, os.getpid()) == "supervisor"


def test_memory_and_descriptors_are_those_of_now() -> None:
    assert measure(GONE) == HeldResources()
    assert parse_own_memory(ROLLUP) == 112 + 30
    with holder() as process:
        before = measure(process.pid)
        process.hold(100 * 2**20, files=1)
        now = measure(process.pid)
    assert now.memory_mb - before.memory_mb == pytest.approx(100, abs=5)
    assert now.descriptors == before.descriptors + 1
    assert now.threads == 1


def test_a_sample_holds_the_whole_tree(helper: tuple[int, int], tmp_path: Path) -> None:
    parent, child = helper
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("file", "a/b/file"):
        (tmp_path / name).touch()
    calls = Calls(answered=5, refused=1, dropped=1, failed=1)
    sample = MeasuredService(parent, tmp_path).look(2.5, calls)
    assert sample.pids == {parent: "supervisor", child: "supervisor"}
    assert sample.roles["supervisor"].threads == 2
    assert (sample.seconds, sample.calls.total, sample.shm_mb, sample.files) == (2.5, 8, 0, 2)


def sample(seconds: float, pids: dict[int, str]) -> Sample:
    return Sample(seconds, Calls(answered=int(10 * seconds)), {}, pids, 0, 0)


def test_ended_processes_are_described_with_their_successors() -> None:
    samples = [
        sample(0, {1: "supervisor", 2: "yolo", 3: "yolo"}),
        sample(1, {1: "supervisor", 2: "yolo", 3: "yolo", 4: "gateway"}),
        sample(2, {1: "supervisor", 5: "yolo", 3: "yolo", 4: "gateway"}),
        sample(3, {1: "supervisor", 5: "yolo", 3: "yolo"}),
    ]
    assert find_replaced(samples) == [
        "yolo: 1 ended, 1 began (by 2 s, 20 calls).",
        "gateway: 1 ended, 0 began (by 3 s, 30 calls).",
    ]
