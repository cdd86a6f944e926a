"""What the processes of each composition hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.compositions import WORKERS
from benchmarks.processes import count_bytes, find_workers
from orchestrator.networks.registry import NETWORKS

SHARED = "networks"


@dataclass(frozen=True)
class Processes:
    """The processes of a composition alone, or of the networks that BLS and ensemble share.

    Of a page that several processes have, each counts its part (PSS).
    """

    name: str
    processes: int
    memory_bytes: int


def measure_memory(server_pid: int, targets: Iterable[str]) -> tuple[Processes, ...]:
    """Look at the processes of a server with all compositions."""
    groups = {target: WORKERS[target] for target in targets} | {SHARED: tuple(NETWORKS)}
    found = {
        name: [pid for model in models for pid in find_workers(server_pid, model)]
        for name, models in groups.items()
    }
    return tuple(Processes(name, len(pids), count_bytes(pids)) for name, pids in found.items())
