"""Samples of a service: its processes' resources, its files, and its callers' results."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from workshop.benchmarks.processes import SHM, count_file_bytes, find_tree, name_role
from workshop.benchmarks.soak.trends import find_warm_up

PROC = Path("/proc")
SUPERVISOR = "supervisor"
OWN_MEMORY = ("Pss_Anon", "SwapPss")
"""The fields of smaps_rollup, in kB, for memory without a file: in use, or swapped out.

psutil does not have them: its PSS and USS count pages of programs, too."""
KIB, MIB = 1024, 2**20
MAX_POINTS = 240
"""The most points in a curve."""
DIAGRAM_COLUMNS = (
    "^memory_mb ",
    "^descriptors ",
    "^threads ",
    "^shm_mb$",
    "^calls a second$",
    "^p(50|95)_ms$",
)
"""The columns of each diagram, as patterns."""


@dataclass(frozen=True)
class HeldResources:
    """The resources of one or more processes, added up.

    Attributes:
        memory_mb: Their own memory in MiB. Pages of programs and libraries are left out: the kernel
            shares them with other processes and may take them back. Pages of /dev/shm are left
            out, too: `Sample.shm_mb` counts them.
    """

    memory_mb: float = 0.0
    descriptors: int = 0
    threads: int = 0

    def __add__(self, other: HeldResources) -> HeldResources:
        return HeldResources(
            self.memory_mb + other.memory_mb,
            self.descriptors + other.descriptors,
            self.threads + other.threads,
        )


QUANTITIES = tuple(field.name for field in fields(HeldResources))


@dataclass(frozen=True)
class Calls:
    """The results of the calls so far.

    Attributes:
        answered: Good calls with the same answer that the picture gets alone.
        refused: Bad calls that got the right error.
        dropped: Calls whose callers hung up.
        failed: All other calls: no answer, a wrong answer, or a refusal of a good call.
        p50_ms: The median latency of calls answered since the last sample; None without any.
        p95_ms: The 95th percentile of the same latencies.
    """

    answered: int = 0
    refused: int = 0
    dropped: int = 0
    failed: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None

    @property
    def total(self) -> int:
        return self.answered + self.refused + self.dropped + self.failed


@dataclass(frozen=True)
class Sample:
    """One sample of a run: the state of the service at one moment.

    Attributes:
        shm_mb: MiB of the service's files in /dev/shm.
    """

    seconds: float
    calls: Calls
    roles: dict[str, HeldResources]
    pids: dict[int, str]
    shm_mb: float
    files: int


@dataclass(frozen=True)
class MeasuredService:
    """The service that samples are taken of.

    Attributes:
        pid: The process ID of its supervisor, `plates serve`.
        temporary: Its temporary folder, which no other program uses.
    """

    pid: int
    temporary: Path

    @property
    def shm_prefix(self) -> str:
        return f"plates_{self.pid}_"

    def look(self, seconds: float, calls: Calls) -> Sample:
        """Take a sample."""
        pids = {pid: find_role(pid, self.pid) for pid in sorted(find_tree(self.pid))}
        roles: dict[str, HeldResources] = {}
        for pid, role in pids.items():
            roles[role] = roles.get(role, HeldResources()) + measure(pid)
        shm = count_file_bytes(SHM, (self.shm_prefix,))
        return Sample(seconds, calls, roles, pids, shm / MIB, count_files(self.temporary))


def find_role(pid: int, supervisor: int) -> str:
    """Return the role of a process below a supervisor, or else the role of its parent."""
    while pid != supervisor:
        try:
            process = psutil.Process(pid)
            if role := name_role(process.cmdline()):
                return role
            pid = process.ppid()
        except psutil.NoSuchProcess:
            break
    return SUPERVISOR


def measure(pid: int) -> HeldResources:
    """Return the resources of a process; all 0 when the process has ended."""
    with suppress(psutil.NoSuchProcess, OSError):
        process = psutil.Process(pid)
        memory_kb = parse_own_memory((PROC / str(pid) / "smaps_rollup").read_text())
        return HeldResources(memory_kb * KIB / MIB, process.num_fds(), process.num_threads())
    return HeldResources()


def parse_own_memory(rollup: str) -> int:
    """Return a process's own memory in kB, from the text of its `smaps_rollup`."""
    sizes = (line.split() for line in rollup.splitlines())
    return sum(int(parts[1]) for parts in sizes if parts[0].rstrip(":") in OWN_MEMORY)


def count_files(folder: Path) -> int:
    """Return the number of files in a folder and its subfolders."""
    return sum(len(files) for _, _, files in os.walk(folder))


def find_replaced(samples: Sequence[Sample]) -> list[str]:
    """Describe, by role, the processes that ended, and how many began in the same moment.

    Roles whose processes only begin are not reported: they start at the first use of a feature.
    If their number kept growing, memory and descriptors would show it.
    """
    return [
        sentence for before, now in pairwise(samples) for sentence in _describe_changes(before, now)
    ]


def _describe_changes(before: Sample, now: Sample) -> list[str]:
    ended_roles = Counter(role for pid, role in before.pids.items() if pid not in now.pids)
    new_roles = Counter(role for pid, role in now.pids.items() if pid not in before.pids)
    when = f"{now.seconds:.0f} s, {now.calls.total} calls"
    return [
        f"{role}: {ended_roles[role]} ended, {new_roles[role]} began (by {when})."
        for role in sorted(ended_roles)
    ]


def tabulate(samples: Sequence[Sample]) -> pd.DataFrame:
    """Return a row for each sample. Column `memory_mb gateway` is the memory of the gateway.

    A quantity of a role is 0 while the role has no process.
    """
    rows = [
        {
            "seconds": sample.seconds,
            "calls": sample.calls.total,
            **asdict(sample.calls),
            "shm_mb": sample.shm_mb,
            "files": sample.files,
            **{
                f"{name} {role}": value
                for role, resources in sample.roles.items()
                for name, value in asdict(resources).items()
            },
        }
        for sample in samples
    ]
    table = pd.DataFrame(rows).astype({"p50_ms": float, "p95_ms": float})
    return table.fillna({column: 0 for column in table if " " in str(column)}).round(3)


def plot_samples(table: pd.DataFrame, path: Path, *, is_by_time: bool) -> None:
    """Draw the table of a run's samples, by minutes or by calls. The warm-up is shaded grey.

    Each point is the median of an equal part of the samples.
    """
    from matplotlib.figure import Figure

    rate = table["calls"].diff() / table["seconds"].diff()
    table = table.assign(minutes=table["seconds"] / 60, **{"calls a second": rate})
    axis = "minutes" if is_by_time else "calls"
    warm = float(np.interp(find_warm_up(table["calls"].tolist()), table["calls"], table[axis]))
    points = np.arange(len(table)) * min(MAX_POINTS, len(table)) // len(table)
    curves = table.groupby(points).median().set_index(axis)
    figure = Figure(figsize=(20, 9), layout="constrained")
    for axes, name in zip(figure.subplots(2, 3).flat, DIAGRAM_COLUMNS, strict=True):
        curves.filter(regex=name).plot(ax=axes, grid=True)
        axes.set_ylim(bottom=0)
        axes.axvspan(0, warm, color="#b8c4d0", alpha=0.3, zorder=0)
    figure.savefig(path)
