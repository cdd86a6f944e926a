import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.processes import (
    PAGE,
    TICKS_PER_S,
    Peaks,
    Watch,
    count_file_bytes,
    count_private_bytes,
    count_shared_bytes,
    find_tree,
    find_workers,
    read_cpu_s,
)


def add(proc: Path, pid: int, parent: int, *, name: str = "x", ticks: tuple = (0, 0)) -> Path:
    """Make a process: the fields before user and system time are the kernel's, in its order."""
    folder = proc / str(pid)
    folder.mkdir()
    state = "S"
    before = " ".join(["0"] * 9)
    folder.joinpath("stat").write_text(
        f"{pid} ({name}) {state} {parent} {before} {ticks[0]} {ticks[1]} 0 0"
    )
    return folder


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    add(tmp_path, 1, 0)
    add(tmp_path, 10, 1, name="triton) (server", ticks=(100, 20))
    add(tmp_path, 11, 10, ticks=(30, 0))
    add(tmp_path, 12, 11, ticks=(0, 5))
    add(tmp_path, 20, 1, ticks=(1000, 1000))
    return tmp_path


def test_workers_are_told_by_their_model(proc: Path) -> None:
    (proc / "11" / "cmdline").write_bytes(b"stub\0/models/lprnet/1/model.py\0")
    (proc / "12" / "cmdline").write_bytes(b"stub\0/models/stn/1/model.py\0")
    (proc / "20" / "cmdline").write_bytes(b"stub\0/others/lprnet/1/model.py\0")
    assert find_workers(10, "lprnet", proc) == [11]
    assert find_workers(10, "yolo", proc) == []


def test_a_tree_is_a_process_and_all_below(proc: Path) -> None:
    assert find_tree(10, proc) == {10, 11, 12}


def test_a_process_that_ended_has_no_tree(proc: Path) -> None:
    assert find_tree(99, proc) == set()


def test_cpu_is_user_and_system_time_of_all(proc: Path) -> None:
    assert read_cpu_s(frozenset({10, 11, 12}), proc) == 155 / TICKS_PER_S


def test_a_process_that_ended_adds_nothing(proc: Path) -> None:
    assert read_cpu_s(frozenset({11, 99}), proc) == 30 / TICKS_PER_S


def test_private_pages_are_those_that_are_not_shared(proc: Path) -> None:
    (proc / "10" / "statm").write_text("500 70 30 1 0 4 0")
    (proc / "11" / "statm").write_text("500 9 8 1 0 4 0")
    assert count_private_bytes(frozenset({10, 11, 99}), proc) == 41 * PAGE


def test_shared_pages_are_the_proportional_part_of_each(proc: Path) -> None:
    for pid, file, shm in ((10, 300, 40), (11, 20, 2)):
        rollup = f"00-ff ---p 00 [rollup]\nPss: 999 kB\nPss_File: {file} kB\nPss_Shmem: {shm} kB\n"
        (proc / str(pid) / "smaps_rollup").write_text(rollup)
    assert count_shared_bytes(frozenset({10, 11, 99}), proc) == 362 * 1024


def test_the_most_shared_pages_are_taken_where_there_is_nothing_better(proc: Path) -> None:
    (proc / "10" / "statm").write_text("500 70 30 1 0 4 0")
    (proc / "11" / "statm").write_text("500 9 8 1 0 4 0")
    assert count_shared_bytes(frozenset({10, 11}), proc) == 30 * PAGE


def test_a_peak_is_kept_when_memory_is_given_back() -> None:
    watch = Watch(frozenset({os.getpid()}))
    watch.look()
    low = watch.peaks().memory_bytes
    ballast = np.ones(200_000_000, np.uint8)
    watch.look()
    del ballast
    watch.look()
    assert watch.peaks().memory_bytes - low > 100_000_000  # others come and go


def test_without_processes_there_are_no_peaks() -> None:
    watch = Watch(frozenset())
    watch.look()
    assert watch.peaks() == Peaks()


def test_this_process_is_found_and_measured() -> None:
    mine = find_tree(os.getpid())
    assert os.getpid() in mine
    assert read_cpu_s(mine) > 0
    assert count_private_bytes(mine) > 1_000_000
    assert count_shared_bytes(mine) > 1_000_000


def test_files_are_added_up_by_prefix(tmp_path: Path) -> None:
    for name in ("ours_1", "ours_2", "theirs"):
        (tmp_path / name).write_bytes(b"x" * 5000)
    blocks = (tmp_path / "theirs").stat().st_blocks * 512
    assert count_file_bytes(tmp_path, ("ours_", "other_")) == 2 * blocks
    assert count_file_bytes(tmp_path, ("none",)) == 0
