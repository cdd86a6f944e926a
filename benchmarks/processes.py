"""CPU time and memory of a process and everything below it; one that has ended adds nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

SHM = Path("/dev/shm")
T = TypeVar("T")


def find_tree(root: int) -> frozenset[int]:
    """Return a living process and its descendants; empty when it has ended."""
    found = [root]
    for below in _ask([root], lambda one: one.children(recursive=True)):
        found += [one.pid for one in below]
    alive = _ask(found, lambda one: one.pid if one.status() != psutil.STATUS_ZOMBIE else None)
    return frozenset(pid for pid in alive if pid is not None)


def find_workers(root: int, model: str) -> list[int]:
    """Return the processes below a server, or its supervisor, that work for a model."""
    lines = _ask(sorted(find_tree(root)), lambda one: (one.pid, one.cmdline()))
    return [pid for pid, line in lines if f"/{model}/" in " ".join(line)]


def read_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds, user and system, that the processes have used so far."""
    return sum(_ask(pids, lambda one: sum(one.cpu_times()[:2])))


def count_private_bytes(pids: Iterable[int]) -> int:
    """Return the resident pages that belong to one process alone; reading them costs nothing."""
    return sum(info.rss - info.shared for info in _ask(pids, lambda one: one.memory_info()))


def count_bytes(pids: Iterable[int]) -> int:
    """Return all resident pages; of one that several have, each counts its part (PSS).

    Takes milliseconds.
    """
    return sum(_ask(pids, lambda one: one.memory_full_info().pss))


def _ask(pids: Iterable[int], question: Callable[[psutil.Process], T]) -> Iterator[T]:
    for pid in pids:
        with suppress(psutil.NoSuchProcess):  # it may end while we look
            yield question(psutil.Process(pid))


@contextmanager
def set_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for what is started in a `with` block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


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
        self._shm = max(self._shm, count_file_bytes(SHM, self._shm_prefixes))

    def peaks(self) -> Peaks:
        """Return the peaks so far; shared pages are those that there are now."""
        if not self.pids:
            return Peaks()
        memory_bytes = self._private + count_bytes(self.pids) - count_private_bytes(self.pids)
        return Peaks(memory_bytes, self._shm if self._shm_prefixes else None)


def count_file_bytes(folder: Path, prefixes: tuple[str, ...]) -> int:
    """Return what the files of a folder whose names begin so take up."""
    total = 0
    for path in folder.glob("*"):
        if path.name.startswith(prefixes):
            with suppress(OSError):  # it may go while we look
                total += path.stat().st_blocks * 512
    return total
