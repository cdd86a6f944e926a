"""How many workers and threads fit a machine's cores."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_THREADS = 4
"""Threads of one inference; one picture hardly gets faster with more."""


@dataclass(frozen=True)
class Capacity:
    """How a CPU is shared.

    Attributes:
        threads: CPU threads of one inference.
        instances: Inferences of the detector, and of the reader, at once.
        pictures: Pictures in work at once; the rest wait in the queue.
    """

    threads: int
    instances: int
    pictures: int


def fitting(cores: int = 0, *, threads: int = 0, pictures: int = 0) -> Capacity:
    """Return what fits the cores, or what was asked for.

    A lone caller's inference has several threads, and two instances fill the gaps that one leaves
    while its picture is decoded, cut or read: with two cores 35 pictures a second instead of 20.
    One picture more than there are instances keeps these busy; a second brings 3 % more throughput
    and slow answers of twice the median.

    Args:
        cores: Cores to use; those that this process may use when 0.
        threads: Threads of one inference; what fits when 0.
        pictures: Pictures in work at once; what fits when 0.
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

    A container on a large machine sees all of its cores and gets the time of a few: workers for all
    of them would wait for each other.

    Args:
        cgroup: Where the process sees its control group.

    Source: Linux kernel, "Control Group v2", `cpu.max`; "CFS Bandwidth Control" for version 1.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, math.ceil(_quota(cgroup) or cores)))


def _quota(cgroup: Path) -> float | None:
    """Return the cores' worth of time that a control group may use; None where it has no limit."""
    with suppress(OSError, ValueError):
        limit, period = (cgroup / "cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    with suppress(OSError, ValueError):
        limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text()
        period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text()
        return None if int(limit) < 0 else int(limit) / int(period)
    return None
