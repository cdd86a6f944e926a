"""Counts the working processes of a service, by role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from workshop.benchmarks.processes import find_tree

TRITON, GATEWAY = "tritonserver", "gateway"
INSTANCE = re.compile(r"/(\w+)/1/model\.(?:py|pt|xml)$|^(\w+)_\d+_\d+$")
"""The patterns of a worker's arguments that name its model: a file, or an instance."""
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


@dataclass(frozen=True)
class Census:
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

    def is_whole(self, before: Census, victims: Iterable[int] = ()) -> bool:
        """Tell whether as many processes work as before, without any of the victims."""
        return self.counts == before.counts and self.all.isdisjoint(victims)


def take_census(root: int) -> Census:
    """Find the working processes below a process; stopped and dead ones are left out."""
    found: dict[str, set[int]] = {}
    for pid in find_tree(root):
        with suppress(psutil.Error):  # the process may end meanwhile
            process = psutil.Process(pid)
            role = name_role(process.cmdline())
            if role and process.status() not in STOPPED:
                found.setdefault(role, set()).add(pid)
    return Census({name: frozenset(pids) for name, pids in found.items()})


def name_role(line: Sequence[str]) -> str:
    """Return the role of a process, from its command line; empty for any other process."""
    if not line:
        return ""
    program = line[0].rpartition("/")[2]
    if program == TRITON:
        return TRITON
    if program.startswith("triton_python_backend_stub"):
        return next((found[1] or found[2] for one in line if (found := INSTANCE.search(one))), "")
    return GATEWAY if "orchestrator.gateway" in line else ""
