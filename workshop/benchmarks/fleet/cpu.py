"""CPU time of the processes of a run."""

from __future__ import annotations

from collections.abc import Mapping

import psutil

from workshop.benchmarks.processes import find_tree


def read_cpu_s(roots: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """Return the CPU seconds, user and system, of processes and their children, by role.

    Children that have ended count, too, once their parent has reaped them.
    """
    return {role: sum(map(_read_tree, pids)) for role, pids in roots.items()}


def _read_tree(root: int) -> float:
    total = 0.0
    for pid in find_tree(root):
        try:
            total += sum(psutil.Process(pid).cpu_times()[:4])
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return total
