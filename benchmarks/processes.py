"""CPU time and memory of a process and everything below it, from /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def find_tree(root: int, proc: Path = PROC) -> frozenset[int]:
    """Return a living process and its descendants; empty when it has ended."""
    parents = dict(_parents(proc))
    found = {root} & set(parents)
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    return frozenset(found)


def find_workers(root: int, model: str, proc: Path = PROC) -> list[int]:
    """Return the processes below a server, or its supervisor, that work for a model."""
    found = []
    for pid in sorted(find_tree(root, proc)):
        with suppress(OSError):  # it may end while we look
            if f"/{model}/".encode() in (proc / str(pid) / "cmdline").read_bytes():
                found.append(pid)
    return found


def read_cpu_s(pids: frozenset[int], proc: Path = PROC) -> float:
    """Return the CPU seconds, user and system, that the processes have used so far."""
    return sum(_ticks(proc / str(pid) / "stat") for pid in pids) / TICKS_PER_S


def count_private_bytes(pids: frozenset[int], proc: Path = PROC) -> int:
    """Return the resident pages that belong to one process alone; reading them costs nothing."""
    return sum(resident - shared for resident, shared in _pages(pids, proc)) * PAGE


def count_shared_bytes(pids: frozenset[int], proc: Path = PROC) -> int:
    """Return the resident pages of files and shared memory, each once; takes milliseconds.

    Each process counts its proportional part (PSS), where the kernel tells it; otherwise the
    process with the most of them counts alone.
    """
    parts = sum(_pss_kb(pid, "_(?:File|Shmem)", proc) for pid in pids)
    return 1024 * parts or PAGE * max((shared for _, shared in _pages(pids, proc)), default=0)


def count_pss_bytes(pid: int, proc: Path = PROC) -> int:
    """Return a process' memory; of a page that several have, its part."""
    return 1024 * _pss_kb(pid, "", proc)


@dataclass(frozen=True)
class Peaks:
    """The most memory that was seen; None where none was watched.

    Attributes:
        memory_bytes: Of the processes.
        shm_bytes: Of their files in shared memory; largely part of the other.
    """

    memory_bytes: int | None = None
    shm_bytes: int | None = None


class Watch:
    """The most memory that processes have while it looks."""

    def __init__(self, pids: frozenset[int], shm_prefixes: tuple[str, ...] = ()) -> None:
        self.pids = pids
        self._shm_prefixes = shm_prefixes
        self._private = self._shm = 0

    def look(self) -> None:
        self._private = max(self._private, count_private_bytes(self.pids))
        if self._shm_prefixes:
            self._shm = max(self._shm, count_file_bytes(SHM, self._shm_prefixes))

    def peaks(self) -> Peaks:
        """Return the peaks so far."""
        if not self.pids:
            return Peaks()
        memory_bytes = self._private + count_shared_bytes(self.pids)
        return Peaks(memory_bytes, self._shm if self._shm_prefixes else None)


def count_file_bytes(folder: Path, prefixes: tuple[str, ...]) -> int:
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


def _pages(pids: frozenset[int], proc: Path) -> Iterator[tuple[int, int]]:
    """Give each process's resident pages, and those of them that others may share."""
    for pid in pids:
        with suppress(OSError):
            _, resident, shared = (proc / str(pid) / "statm").read_text().split()[:3]
            yield int(resident), int(shared)


def _pss_kb(pid: int, part: str, proc: Path) -> int:
    """Return a part of the PSS, by the end of the kernel's name for it."""
    with suppress(OSError):
        rollup = (proc / str(pid) / "smaps_rollup").read_text()
        return sum(int(kb) for kb in re.findall(rf"^Pss{part}: +(\d+)", rollup, re.MULTILINE))
    return 0
