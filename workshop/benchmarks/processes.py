"""Finds the processes of a service by role, and measures their CPU time and memory.

Processes that have ended count as 0.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

SHM = Path("/dev/shm")
TRITON, GATEWAY = "tritonserver", "gateway"
INSTANCE = re.compile(r"/(\w+)/1/model\.(?:py|pt|xml)$|^(\w+)_\d+_\d+$")
"""The patterns of a worker's arguments that name its model: a file, or an instance."""
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
T = TypeVar("T")


def find_tree(root: int) -> frozenset[int]:
    """Return a living process and its descendants; empty when it has ended."""
    pids = [root]
    for below in _query([root], lambda process: process.children(recursive=True)):
        pids += [child.pid for child in below]
    alive = _query(
        pids, lambda process: process.pid if process.status() != psutil.STATUS_ZOMBIE else None
    )
    return frozenset(pid for pid in alive if pid is not None)


def find_workers(root: int, model: str) -> list[int]:
    """Return the processes below a server, or its supervisor, that work for a model."""
    lines = _query(sorted(find_tree(root)), lambda process: (process.pid, process.cmdline()))
    return [pid for pid, line in lines if f"/{model}/" in " ".join(line)]


def name_role(line: Sequence[str]) -> str:
    """Return the role of a process from its command line; empty when it shows none.

    The role of a worker is the name of its model.
    """
    if not line:
        return ""
    program = line[0].rpartition("/")[2]
    if program == TRITON:
        return TRITON
    if program.startswith("triton_python_backend_stub"):
        return next(
            (match[1] or match[2] for argument in line if (match := INSTANCE.search(argument))), ""
        )
    return GATEWAY if "orchestrator.serving.gateway" in line else ""


@dataclass(frozen=True)
class Processes:
    """The working processes of a service, by role: the name of a model, Triton or the gateway."""

    pids: Mapping[str, frozenset[int]]

    @property
    def counts(self) -> dict[str, int]:
        return {name: len(pids) for name, pids in self.pids.items()}

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have workers."""
        return tuple(sorted(self.pids.keys() - {TRITON, GATEWAY}))

    @property
    def all(self) -> frozenset[int]:
        return frozenset().union(*self.pids.values())

    def is_whole(self, before: Processes, victims: Iterable[int] = ()) -> bool:
        """Tell whether as many processes work as before, without any of the victims."""
        return self.counts == before.counts and self.all.isdisjoint(victims)


def find_processes(root: int) -> Processes:
    """Find the working processes below a process; stopped and dead ones are left out."""
    pids_of_role: dict[str, set[int]] = {}
    for pid in find_tree(root):
        with suppress(psutil.Error):  # the process may end meanwhile
            process = psutil.Process(pid)
            role = name_role(process.cmdline())
            if role and process.status() not in STOPPED:
                pids_of_role.setdefault(role, set()).add(pid)
    return Processes({name: frozenset(pids) for name, pids in pids_of_role.items()})


def read_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds, user and system, that the processes have used so far."""
    return sum(_query(pids, lambda process: sum(process.cpu_times()[:2])))


def count_private_bytes(pids: Iterable[int]) -> int:
    """Return the size of resident pages of one process alone; this is cheap to read."""
    return sum(
        info.rss - info.shared for info in _query(pids, lambda process: process.memory_info())
    )


def count_bytes(pids: Iterable[int]) -> int:
    """Return the size of all resident pages; each process counts its part of shared pages (PSS).

    This takes milliseconds.
    """
    return sum(_query(pids, lambda process: process.memory_full_info().pss))


def _query(pids: Iterable[int], read: Callable[[psutil.Process], T]) -> Iterator[T]:
    for pid in pids:
        with suppress(psutil.NoSuchProcess):  # the process may end meanwhile
            yield read(psutil.Process(pid))


def find_marked(name: str, value: str) -> frozenset[int]:
    """Return the processes that have an environment variable with this value."""
    marked = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or belongs to another user
            if process.environ().get(name) == value:
                marked.add(process.pid)
    return frozenset(marked)


def end_at_once(pids: Iterable[int]) -> None:
    """Kill processes of ours; processes that have ended are skipped."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def poll(look: Callable[[], object], every_s: float) -> Iterator[None]:
    """Call a function again and again in a thread, for the length of a `with` block."""
    is_over = threading.Event()

    def call() -> None:
        while not is_over.wait(every_s):
            look()

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def set_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started in a `with` block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass(frozen=True)
class Peaks:
    """The highest memory use that was seen; None when it was not watched.

    Attributes:
        shm_bytes: The size of their files in shared memory; `memory_bytes` includes most of it.
    """

    memory_bytes: int | None = None
    shm_bytes: int | None = None


class Watch:
    """Watches processes and keeps their highest memory use."""

    def __init__(self, pids: frozenset[int], shm_prefixes: tuple[str, ...] = ()) -> None:
        self.pids = pids
        self._shm_prefixes = shm_prefixes
        self._private = self._shm = 0

    def look(self) -> None:
        self._private = max(self._private, count_private_bytes(self.pids))
        self._shm = max(self._shm, count_file_bytes(SHM, self._shm_prefixes))

    def peaks(self) -> Peaks:
        """Return the peaks so far; shared pages are counted as they are now."""
        if not self.pids:
            return Peaks()
        memory_bytes = self._private + count_bytes(self.pids) - count_private_bytes(self.pids)
        return Peaks(memory_bytes, self._shm if self._shm_prefixes else None)


def count_file_bytes(folder: Path, prefixes: tuple[str, ...]) -> int:
    """Return the disk space of those files in a folder whose names have these prefixes."""
    total = 0
    for path in folder.glob("*"):
        if path.name.startswith(prefixes):
            with suppress(OSError):  # the file may be removed meanwhile
                total += path.stat().st_blocks * 512
    return total
