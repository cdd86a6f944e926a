"""The cores and the memory of a process, on a machine or in a container, and its kill priority."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MIB = 1024 * 1024
SERVICE_BYTES, WORKER_BYTES = 300 * MIB, 100 * MIB
"""Memory under usual load: of supervisor, tritonserver and gateway together; of each Triton
worker."""
SPARE = 1.75
"""Bytes of free memory for each byte of the budget. The rest is for waiting request bodies, each
three times, and for freed pictures that processes keep. Measured with 2 GiB: 1.91 GiB at most while
twelve clients sent photos of 48 megapixels and 13 MB, three each at once."""
KEPT_BYTES, KEPT_ONE_BYTES = 128 * MIB, 32 * MIB
"""Freed memory that each process keeps when there is much memory: in total, and of one picture."""
NETWORK_BYTES, NETWORK_ONE_BYTES = 8 * MIB, 4 * MIB
"""Freed memory that a worker of a network keeps: in total, and of one tensor."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc, malloc.h
MIN_BYTES = 64 * MIB
"""Smallest memory for pictures in progress, however small the machine: two frames of 4
megapixels."""
CGROUP = Path("/sys/fs/cgroup")
PROC = Path("/proc")
STEP = 450
"""Increase of the score, in thousandths of the memory. Two steps weigh more than a gateway that
uses most of the memory."""
MAX_SCORE = 1000


def budget(memory_bytes: int, workers: int) -> int:
    """Return the bytes that pictures in progress may take; 0 when the service needs all memory.

    Args:
        memory_bytes: Memory of the container or machine.
        workers: Worker processes of Triton.
    """
    return max(0, int((memory_bytes - service_bytes(workers)) / SPARE))


def least_bytes(workers: int) -> int:
    """Return the least memory with which the service can start, in bytes.

    Args:
        workers: Worker processes of Triton.
    """
    return service_bytes(workers) + int(SPARE * MIN_BYTES)


def service_bytes(workers: int) -> int:
    """Return the memory that the service takes under usual load, in bytes.

    Args:
        workers: Worker processes of Triton.
    """
    return SERVICE_BYTES + workers * WORKER_BYTES


def keep_freed(memory_bytes: int) -> dict[str, str]:
    """Return the environment that makes a process keep freed pictures' memory.

    If the memory goes back to the kernel, the next picture causes page faults for all of it. It
    takes as long as unpacking the picture. When memory is short, less of it is kept.

    Args:
        memory_bytes: Memory of the container or machine.

    Source: GNU C Library, mallopt(3).
    """
    return {
        "MALLOC_MMAP_THRESHOLD_": str(min(KEPT_ONE_BYTES, memory_bytes // 256)),
        "MALLOC_TRIM_THRESHOLD_": str(min(KEPT_BYTES, memory_bytes // 128)),
    }


def give_back_freed() -> None:
    """Return freed memory of this process to the kernel from now on, which undoes `keep_freed`.

    It is for workers that hold no pictures. OpenVINO takes new memory whenever the size of a
    picture changes, and the memory of the old size would stay: 30 MB in each copy of the detector.

    Source: GNU C Library, mallopt(3). Other C libraries do not have the function.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(M_MMAP_THRESHOLD, NETWORK_ONE_BYTES)
        mallopt(M_TRIM_THRESHOLD, NETWORK_BYTES)


def usable_memory(cgroup: Path = CGROUP, proc: Path = PROC) -> int:
    """Return how many bytes of memory this process and its children may use.

    This is the machine's memory, or less if a control group of this process has a limit.

    Args:
        cgroup: Folder of the process's control groups.
        proc: Folder of the kernel's files.

    Source: Linux kernel, "Control Group v2", `memory.max`; "Memory Resource Controller" for
        version 1; "proc_pid_cgroup(5)".
    """
    return min([_machine_bytes(proc), *_limits(cgroup, proc)])


def _machine_bytes(proc: Path) -> int:
    lines = (proc / "meminfo").read_text().splitlines()
    (total,) = (line.split()[1] for line in lines if line.startswith("MemTotal:"))
    return int(total) * 1024


def _limits(cgroup: Path, proc: Path) -> Iterator[int]:
    """Yield the limit of each group that this process is in, from its own up to the root."""
    for line in (proc / "self" / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, name = cgroup / controllers, "memory.limit_in_bytes" if controllers else "memory.max"
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                with suppress(OSError, ValueError):  # missing, or "max"
                    yield int((folder / name).read_text())


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many cores this process may keep busy.

    A container on a large machine sees all cores, but gets the time of only a few. Workers for all
    cores would wait for each other.

    Args:
        cgroup: Folder of the process's control group.

    Source: Linux kernel, "Control Group v2", `cpu.max`; "CFS Bandwidth Control" for version 1.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, math.ceil(_quota(cgroup) or cores)))


def _quota(cgroup: Path) -> float | None:
    """Return the CPU quota of a control group, in cores; None when it has no limit."""
    with suppress(OSError, ValueError):
        limit, period = (cgroup / "cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    with suppress(OSError, ValueError):
        limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text()
        period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text()
        return None if int(limit) < 0 else int(limit) / int(period)
    return None


def raise_score(process: int | str = "self", proc: Path = PROC) -> None:
    """Let the kernel kill a process, and those that it starts later, before its parent.

    The step is added to any adjustment that a container has of its own. Every user may raise the
    score of their own processes. A kernel without these scores is left unchanged.

    Args:
        process: Its process id, or "self".
        proc: Folder of the kernel's files.

    Source: Linux, "proc_pid_oom_score_adj(5)".
    """
    file = proc / str(process) / "oom_score_adj"
    with suppress(OSError, ValueError):
        file.write_text(str(min(MAX_SCORE, int(file.read_text()) + STEP)))
