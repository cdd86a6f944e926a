"""Counts what processes use: CPU time, waits, preemptions and page faults of all threads."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import reduce
from pathlib import Path

import psutil

from workshop.benchmarks.compositions.workloads import Form
from workshop.benchmarks.load import Cpu
from workshop.benchmarks.processes import find_tree, find_workers

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\t(\d+)$", re.MULTILINE)
SERVER = "tritonserver"
"""The name of the server's own process, among the names of models."""


@dataclass(frozen=True)
class Spent:
    """The resources that processes used: so far, between two readings, or per call.

    Attributes:
        user_s: CPU time outside the kernel.
        system_s: CPU time inside the kernel.
        waits: Voluntary context switches: the thread had nothing to do.
        preemptions: Involuntary context switches: another thread took the core.
        faults: Minor page faults: the page did not have to be read from a disk.
    """

    user_s: float = 0.0
    system_s: float = 0.0
    waits: float = 0.0
    preemptions: float = 0.0
    faults: float = 0.0

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    def plus(self, other: Spent) -> Spent:
        return Spent(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def minus(self, other: Spent) -> Spent:
        return self.plus(other.divided(-1))

    def divided(self, parts: float) -> Spent:
        return Spent(*(one / parts for one in astuple(self)))


def add_up(many: Iterable[Spent]) -> Spent:
    """Return the sum of several."""
    return reduce(Spent.plus, many, Spent())


def read_spent(pids: Iterable[int], proc: Path = PROC) -> Spent:
    """Return the resources that processes used so far; an ended process counts as 0."""
    return add_up(_read(proc / str(pid)) for pid in pids)


def _read(process: Path) -> Spent:
    with suppress(OSError):
        stat = (process / "stat").read_text().rpartition(")")[2].split()
        waits = preemptions = 0
        for thread in (process / "task").iterdir():
            with suppress(OSError):  # the thread may end meanwhile
                told = SWITCHES.findall((thread / "status").read_text())
                waits, preemptions = waits + int(told[0]), preemptions + int(told[1])
        user_s, system_s = int(stat[11]) / TICKS, int(stat[12]) / TICKS
        return Spent(user_s, system_s, waits, preemptions, int(stat[7]))
    return Spent()


def group(root: int, form: Form) -> dict[str, tuple[int, ...]]:
    """Return the processes of a form by model, and the server's own process."""
    groups = {model: tuple(find_workers(root, model)) for model in form.workers}
    return groups | {SERVER: (root,) if root in find_tree(root) else ()}


@dataclass
class Ledger:
    """The readings of used resources, at the start and the end of a load."""

    groups: Mapping[str, tuple[int, ...]]
    readings: list[Mapping[str, Spent]] = field(default_factory=list)
    busy_s: list[float] = field(default_factory=list)

    def read(self) -> Cpu:
        """Record the resources used so far; return the CPU time of server and client."""
        reading = {name: read_spent(pids) for name, pids in self.groups.items()}
        self.readings.append(reading)
        self.busy_s.append(_read_machine_s())
        return Cpu(server=add_up(reading.values()).cpu_s, client=time.process_time())

    def used(self) -> dict[str, Spent]:
        """Return the resources used between the first reading and the last."""
        return {
            name: last.minus(self.readings[0][name]) for name, last in self.readings[-1].items()
        }

    def machine_s(self) -> float:
        """Return the CPU time of the whole machine between the first reading and the last."""
        return self.busy_s[-1] - self.busy_s[0]


def _read_machine_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times[:3]) + times.irq + times.softirq)  # user, nice, system
