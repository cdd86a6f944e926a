"""What every process of a service has at a moment, what lies about, and what its callers got."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import psutil

from benchmarks.processes import SHM, count_file_bytes, find_tree

PROC = Path("/proc")
SUPERVISOR, GATEWAY, TRITON = "supervisor", "gateway", "tritonserver"
STUB, NAME = "triton_python_backend_stub", 8
"""A worker's program, and which of its arguments is the model's name, device and number."""
OWN_MEMORY = ("Pss_Anon", "SwapPss")
"""Of smaps_rollup, kB: memory behind which there is no file, in use or swapped out."""
KIB, MIB = 1024, 2**20


@dataclass(frozen=True)
class Held:
    """What processes have, added up.

    Attributes:
        memory_mb: MiB that are theirs alone: no pages of programs and libraries, which the kernel
            shares with whoever else runs them and takes back as it likes, and none of /dev/shm,
            which are counted where they lie.
        descriptors: Open.
        threads: All.
    """

    memory_mb: float = 0.0
    descriptors: int = 0
    threads: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(
            self.memory_mb + other.memory_mb,
            self.descriptors + other.descriptors,
            self.threads + other.threads,
        )


QUANTITIES = tuple(field.name for field in fields(Held))


@dataclass(frozen=True)
class Calls:
    """What became of the calls so far.

    Attributes:
        answered: Good ones that got the answer that the picture gets alone.
        refused: Bad ones that were told what is wrong with them.
        dropped: Those whose callers hung up.
        failed: All others: no answer, another one than it must be, or a refusal of a good call.
        p50_ms: Median latency of those that were answered since the sample before; None of none.
        p95_ms: Likewise, the 95th percentile.
    """

    answered: int = 0
    refused: int = 0
    dropped: int = 0
    failed: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None

    @property
    def ended(self) -> int:
        return self.answered + self.refused + self.dropped + self.failed


@dataclass(frozen=True)
class Sample:
    """A moment of a run.

    Attributes:
        seconds: Since the first call.
        calls: Until then.
        roles: What the processes of each role have.
        pids: The processes, with their roles.
        shm_mb: MiB of the service's files in /dev/shm.
        files: In its temporary folder.
    """

    seconds: float
    calls: Calls
    roles: dict[str, Held]
    pids: dict[int, str]
    shm_mb: float
    files: int


@dataclass(frozen=True)
class Measured:
    """Where a service is to be looked at.

    Attributes:
        pid: Of its supervisor, `plates serve`.
        temporary: Its temporary folder, which nobody else uses.
    """

    pid: int
    temporary: Path

    @property
    def shm_prefix(self) -> str:
        return f"plates_{self.pid}_"

    def look(self, seconds: float, calls: Calls) -> Sample:
        """Take a sample."""
        pids = {pid: find_role(pid, self.pid) for pid in sorted(find_tree(self.pid))}
        roles: dict[str, Held] = {}
        for pid, role in pids.items():
            roles[role] = roles.get(role, Held()) + measure(pid)
        shm = count_file_bytes(SHM, (self.shm_prefix,))
        return Sample(seconds, calls, roles, pids, shm / MIB, count_files(self.temporary))


def find_role(pid: int, supervisor: int) -> str:
    """Return what a process below a supervisor is for; it has its parent's role without one."""
    while pid != supervisor:
        if role := name_role(read_arguments(pid)):
            return role
        try:
            pid = psutil.Process(pid).ppid()
        except psutil.NoSuchProcess:
            break
    return SUPERVISOR


def name_role(arguments: Sequence[str]) -> str:
    """Return what a process is for, by its command line; empty where that does not say it.

    A worker's role is the name of its model.
    """
    program = Path(arguments[0]).name if arguments else ""
    if program == STUB and len(arguments) > NAME:
        return arguments[NAME].rsplit("_", 2)[0]
    if program == TRITON:
        return TRITON
    return GATEWAY if "orchestrator.gateway" in arguments else ""


def read_arguments(pid: int) -> list[str]:
    """Return a process's command line; nothing when it has ended."""
    try:
        line = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in line.split(b"\0")]


def measure(pid: int) -> Held:
    """Return what a process has; nothing when it has ended."""
    with suppress(psutil.NoSuchProcess, OSError):
        process = psutil.Process(pid)
        memory_kb = parse_own_memory((PROC / str(pid) / "smaps_rollup").read_text())
        return Held(memory_kb * KIB / MIB, process.num_fds(), process.num_threads())
    return Held()


def parse_own_memory(rollup: str) -> int:
    """Return the kB of a process's own memory in the text of its `smaps_rollup`."""
    sizes = (line.split() for line in rollup.splitlines())
    return sum(int(parts[1]) for parts in sizes if parts[0].rstrip(":") in OWN_MEMORY)


def count_files(folder: Path) -> int:
    """Return how many files lie in a folder and those below."""
    return sum(len(files) for _, _, files in os.walk(folder))


def find_replaced(samples: Iterable[Sample]) -> list[str]:
    """Tell of which roles processes ended during a run, and how many began in the same moment.

    Those that only begin, since something is asked for the first time, are not told: had they no
    end of growing, memory and descriptors would tell.
    """
    told: list[str] = []
    before: Sample | None = None
    for sample in samples:
        if before is not None:
            told += _tell_changes(before, sample)
        before = sample
    return told


def _tell_changes(before: Sample, now: Sample) -> list[str]:
    gone = Counter(role for pid, role in before.pids.items() if pid not in now.pids)
    new = Counter(role for pid, role in now.pids.items() if pid not in before.pids)
    when = f"{now.seconds:.0f} s, {now.calls.ended} calls"
    return [f"{role}: {gone[role]} ended, {new[role]} began (by {when})." for role in sorted(gone)]
