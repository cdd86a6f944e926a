"""The memory that a container has, and what of it pictures may take."""

from pathlib import Path

import pytest

from orchestrator.host.memory import (
    MIB,
    MIN_BYTES,
    budget,
    keep_freed,
    least_bytes,
    service_bytes,
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
    kept = {name: int(value) // MIB for name, value in keep_freed(memory_bytes).items()}
    assert kept == {"MALLOC_MMAP_THRESHOLD_": one_mb, "MALLOC_TRIM_THRESHOLD_": all_mb}


def test_this_machine_has_memory() -> None:
    assert usable_memory() > GIB


def test_the_budget_is_a_part_of_what_the_service_leaves_and_less_with_more_workers() -> None:
    assert 0 < budget(2 * GIB, workers=10) < 2 * GIB - service_bytes(10)
    assert budget(2 * GIB, workers=11) < budget(2 * GIB, workers=10)
    assert budget(GIB // 2, workers=10) == 0


def test_with_the_least_memory_the_budget_is_the_least_one() -> None:
    assert budget(least_bytes(10), workers=10) == MIN_BYTES


def test_a_photo_that_others_send_too_is_given_back_at_once_where_memory_is_short() -> None:
    """Twelve photos of 13 MB at once ended workers with 2 GiB when freed bodies stayed."""
    assert int(keep_freed(2 * GIB)["MALLOC_MMAP_THRESHOLD_"]) < 13 * MIB
