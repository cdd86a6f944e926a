"""Counts the working processes of a service, by role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from workshop.benchmarks.processes import GATEWAY, TRITON, find_tree, name_role

STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


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
    found: dict[str, set[int]] = {}
    for pid in find_tree(root):
        with suppress(psutil.Error):  # the process may end meanwhile
            process = psutil.Process(pid)
            role = name_role(process.cmdline())
            if role and process.status() not in STOPPED:
                found.setdefault(role, set()).add(pid)
    return Processes({name: frozenset(pids) for name, pids in found.items()})
