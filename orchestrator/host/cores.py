"""The cores that a process may keep busy, on a machine or in a container."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path


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
