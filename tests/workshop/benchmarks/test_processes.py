import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workshop.benchmarks.holding import holder, parent_and_child
from workshop.benchmarks.processes import (
    GATEWAY,
    TRITON,
    Peaks,
    Processes,
    Watch,
    count_bytes,
    count_file_bytes,
    count_private_bytes,
    find_processes,
    find_tree,
    find_workers,
    name_role,
    read_cpu_s,
)

STUB = "/tmp/plates-a/backends/python/triton_python_backend_stub"
GONE = 2**22  # past every process number


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process that has spent 0.2 s of CPU, and its child, that works for the model `lprnet`."""
    with parent_and_child("", "|models|lprnet|1", cpu_s=0.2) as pids:
        yield pids


def test_a_tree_is_a_process_and_all_below_and_has_workers_of_models(family) -> None:
    parent, child = family
    assert find_tree(parent) == {parent, child}
    assert {parent, child} < find_tree(os.getpid())
    assert find_workers(parent, "lprnet") == [child]
    assert find_workers(parent, "yolo") == []
    assert BEFORE.models == ("yolo",)


def test_a_process_that_nobody_has_reaped_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert find_tree(process.pid) == find_tree(GONE) == set()


def test_a_process_that_ended_adds_nothing(family) -> None:
    parent, _ = family
    assert 0.1 < read_cpu_s({parent, GONE}) < 5
    assert count_private_bytes({parent, GONE}) > 1_000_000
    assert count_bytes({parent, GONE}) > count_private_bytes({parent})
    assert (read_cpu_s({GONE}), count_private_bytes({GONE}), count_bytes({GONE})) == (0, 0, 0)


def test_a_peak_is_kept_when_memory_is_given_back() -> None:
    assert Watch(frozenset()).peaks() == Peaks()
    with holder() as process:
        watch = Watch(frozenset({process.pid}))
        watch.look()
        low = watch.peaks().memory_bytes
        for size in (100_000_000, 0):
            process.hold(size)
            watch.look()
        assert watch.peaks().memory_bytes - low == pytest.approx(100_000_000, abs=5_000_000)


def test_files_are_added_up_by_prefix(tmp_path: Path) -> None:
    for name in ("ours_1", "ours_2", "theirs"):
        (tmp_path / name).write_bytes(b"x" * 5000)
    blocks = (tmp_path / "theirs").stat().st_blocks * 512
    assert count_file_bytes(tmp_path, ("ours_", "other_")) == 2 * blocks
    assert count_file_bytes(tmp_path, ("none",)) == 0


@pytest.mark.parametrize(
    ("line", "role"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["/usr/bin/sleep", "9"], "", id="another"),
        pytest.param([STUB, "--version"], "", id="stub-for-something-else"),
        pytest.param(["/opt/bin/tritonserver", "--log-info=false"], TRITON, id="triton"),
        pytest.param(["python", "-m", "orchestrator.serving.gateway"], GATEWAY, id="gateway"),
        pytest.param([STUB, "/r/yolo/1/model.xml", "x", "yolo_0_1"], "yolo", id="network"),
        pytest.param([STUB, "/r/stn/1/model.py", "x"], "stn", id="file-alone"),
        pytest.param(
            [STUB, "/backends/openvino/model.py", "x", "plate_recognition_0_2"],
            "plate_recognition",
            id="instance",
        ),
    ],
)
def test_a_process_is_known_by_its_command_line(line: list[str], role: str) -> None:
    assert name_role(line) == role


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
def test_a_service_is_whole_once_the_victim_was_replaced(pids: set[int], is_whole: bool) -> None:
    now = Processes({**BEFORE.pids, "yolo": frozenset(pids)})
    assert now.is_whole(BEFORE, [1]) == is_whole


def test_a_process_without_a_role_is_not_counted() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert find_processes(child.pid).all == frozenset()
        child.kill()
