"""The cores and the memory of a process, and its OOM score."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.host.resources import (
    MIB,
    MIN_BYTES,
    STEP,
    budget,
    keep_freed,
    least_bytes,
    raise_score,
    service_bytes,
    usable_cores,
    usable_memory,
)

GIB = 1024 * MIB
UNLIMITED = 9223372036854771712
"""Value of cgroup version 1 for no limit."""


@pytest.fixture
def proc(tmp_path) -> Path:
    """The kernel's files of a machine of 4 GiB."""
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text("MemTotal:        4194304 kB\nMemFree:          100 kB\n")
    (folder / "self" / "cgroup").write_text("0::/\n")
    return folder


def limit(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_without_a_limit_it_is_the_machine_s(tmp_path, proc) -> None:
    assert usable_memory(tmp_path / "none", proc) == 4 * GIB


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        pytest.param("max", 4 * GIB, id="none"),
        pytest.param(2 * GIB, 2 * GIB, id="two"),
        pytest.param(64 * GIB, 4 * GIB, id="more-than-the-machine-has"),
    ],
)
def test_a_container_s_limit_counts(tmp_path, proc, text: object, usable: int) -> None:
    limit(tmp_path / "memory.max", text)
    assert usable_memory(tmp_path, proc) == usable


def test_the_limit_of_a_group_above_counts(tmp_path, proc) -> None:
    limit(proc / "self" / "cgroup", "0::/system.slice/plates.service")
    limit(tmp_path / "system.slice" / "memory.max", GIB)
    limit(tmp_path / "system.slice" / "plates.service" / "memory.max", "max")
    assert usable_memory(tmp_path, proc) == GIB


@pytest.mark.parametrize(("text", "usable"), [(UNLIMITED, 4 * GIB), (GIB, GIB)])
def test_a_limit_of_version_1_counts(tmp_path, proc, text: int, usable: int) -> None:
    limit(proc / "self" / "cgroup", "9:cpu:/\n4:memory:/docker/abc\n0::/")
    limit(tmp_path / "memory" / "memory.limit_in_bytes", text)
    assert usable_memory(tmp_path, proc) == usable


@pytest.mark.parametrize(
    ("memory_bytes", "one_mb", "all_mb"),
    [
        pytest.param(2 * GIB, 8, 16, id="little"),
        pytest.param(64 * GIB, 32, 128, id="much"),
    ],
)
def test_processes_keep_less_where_memory_is_short(
    memory_bytes: int, one_mb: int, all_mb: int
) -> None:
    thresholds = {name: int(value) // MIB for name, value in keep_freed(memory_bytes).items()}
    assert thresholds == {"MALLOC_MMAP_THRESHOLD_": one_mb, "MALLOC_TRIM_THRESHOLD_": all_mb}


def test_this_machine_has_memory() -> None:
    assert usable_memory() > GIB


def test_the_budget_is_a_part_of_what_the_service_leaves_and_less_with_more_workers() -> None:
    assert 0 < budget(2 * GIB, workers=10) < 2 * GIB - service_bytes(10)
    assert budget(2 * GIB, workers=11) < budget(2 * GIB, workers=10)
    assert budget(GIB // 2, workers=10) == 0


def test_with_the_least_memory_the_budget_is_the_least_one() -> None:
    assert budget(least_bytes(10), workers=10) == MIN_BYTES


def test_a_photo_that_others_send_too_is_given_back_at_once_where_memory_is_short() -> None:
    """With 2 GiB, twelve simultaneous photos of 13 MB killed workers when freed memory was kept."""
    assert int(keep_freed(2 * GIB)["MALLOC_MMAP_THRESHOLD_"]) < 13 * MIB


@pytest.fixture
def six_cores(monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3, 4, 5}, raising=False)


def test_without_a_number_the_cores_of_this_process_count(six_cores, tmp_path) -> None:
    assert usable_cores(tmp_path) == 6


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        pytest.param("max 100000", 6, id="none"),
        pytest.param("200000 100000", 2, id="two"),
        pytest.param("250000 100000", 3, id="two-and-a-half"),
        pytest.param("20000 100000", 1, id="a-fifth"),
        pytest.param("1600000 100000", 6, id="more-than-there-are"),
        pytest.param("nonsense", 6, id="unreadable"),
    ],
)
def test_a_container_s_quota_counts(six_cores, tmp_path, quota: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(("quota_us", "cores"), [("-1", 6), ("150000", 2)])
def test_a_quota_of_version_1_counts(six_cores, tmp_path, quota_us: str, cores: int) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota_us)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert usable_cores(tmp_path) == cores


def score_file(folder: Path, process: str, text: str) -> Path:
    file = folder / process / "oom_score_adj"
    file.parent.mkdir()
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("score", "new_score"),
    [
        pytest.param("0\n", STEP, id="usual"),
        pytest.param("-997\n", STEP - 997, id="a-guaranteed-pod"),
        pytest.param("900\n", 1000, id="at-most-1000"),
    ],
)
def test_a_step_is_added_to_what_the_container_has(tmp_path, score: str, new_score: int) -> None:
    file = score_file(tmp_path, "self", score)
    raise_score(proc=tmp_path)
    assert int(file.read_text()) == new_score


def test_another_process_can_be_named(tmp_path) -> None:
    own, other = score_file(tmp_path, "self", "0"), score_file(tmp_path, "42", "0")
    raise_score(42, tmp_path)
    assert (own.read_text(), other.read_text()) == ("0", str(STEP))


def test_a_kernel_without_it_is_left_alone(tmp_path) -> None:
    raise_score(proc=tmp_path)


def test_the_kernel_takes_it() -> None:
    code = "from orchestrator.host.resources import raise_score; raise_score()"
    show = "print(open('/proc/self/oom_score_adj').read())"
    score = int(Path("/proc/self/oom_score_adj").read_text())
    output = subprocess.check_output([sys.executable, "-c", f"{code}; {show}"], text=True)
    assert int(output) == min(1000, score + STEP)
