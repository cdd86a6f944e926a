"""Computes how many workers and threads fit a machine's cores."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_THREADS = 4
"""Most threads of one inference; more make one picture hardly faster."""


@dataclass(frozen=True)
class Capacity:
    """The shares of a CPU that the models get.

    Attributes:
        threads: CPU threads of one inference.
        instances: Inferences of the detector, and of the reader, at once.
        pictures: Pictures processed at once; the rest wait in the queue.
    """

    threads: int
    instances: int
    pictures: int


def fitting(cores: int = 0, *, threads: int = 0, pictures: int = 0) -> Capacity:
    """Return the capacity that fits the cores, or the values that were asked for.

    The inference of a single client has several threads. Two instances use the time that one leaves
    free while its picture is decoded, cut or read. With two cores they handle 35 pictures a second
    instead of 20. One picture more than there are instances keeps the instances busy. A second
    extra picture brings 3 % more throughput, but some answers take twice the median.

    Args:
        cores: Cores to use; 0 means all cores that this process may use.
        threads: Threads of one inference; 0 means as many as fit.
        pictures: Pictures processed at once; 0 means as many as fit.
    """
    cores = cores or usable_cores()
    instances = max(min(cores, 2), cores // 2)
    if pictures:
        instances = min(instances, pictures)
    return Capacity(
        threads=threads or min(cores, MOST_THREADS),
        instances=instances,
        pictures=pictures or instances + 1,
    )


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
