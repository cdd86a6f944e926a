"""CPU time and memory of a process and everything below it, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: frozenset[int], proc: Path = PROC) -> float:
    """Return the CPU seconds, user and system, that the processes have used so far."""
    return sum(_ticks(proc / str(pid) / "stat") for pid in pids) / TICKS_PER_S


def memory_bytes(pids: frozenset[int], proc: Path = PROC) -> int:
    """Return the memory of the processes together.

    Shared pages count once: each process has its proportional part (PSS), where the
    kernel tells it. Where it does not, resident pages (RSS) are added up, which is too much.
    """
    return sum(_memory_bytes(proc / str(pid)) for pid in pids)


def tree(root: int, proc: Path = PROC) -> frozenset[int]:
    """Return a living process and its descendants; empty when it has ended."""
    parents = dict(_parents(proc))
    found = {root} & set(parents)
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    return frozenset(found)


def files_bytes(folder: Path, prefixes: tuple[str, ...]) -> int:
    """Return what the files of a folder whose names begin so take up."""
    total = 0
    for path in folder.glob("*"):
        if path.name.startswith(prefixes):
            with suppress(OSError):  # it may go while we look
                total += path.stat().st_blocks * 512
    return total


def _parents(proc: Path) -> Iterator[tuple[int, int]]:
    for stat in proc.glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = _fields(stat)[:2]
            if state not in "ZX":
                yield int(stat.parent.name), int(parent)


def _fields(stat: Path) -> list[str]:
    """Return the fields after the program's name, which may hold blanks and brackets."""
    return stat.read_text(errors="replace").rpartition(")")[2].split()


def _ticks(stat: Path) -> int:
    with suppress(OSError):
        user, system = _fields(stat)[11:13]
        return int(user) + int(system)
    return 0


def _memory_bytes(process: Path) -> int:
    with suppress(OSError):
        for line in (process / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError):
        return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
