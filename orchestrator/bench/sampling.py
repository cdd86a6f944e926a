"""One cell in one round: the load, and what it cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orchestrator.bench.child import Child
from orchestrator.bench.load import Caller, closed_loop
from orchestrator.bench.metrics import Counters, difference, scrape
from orchestrator.bench.pictures import Picture
from orchestrator.bench.plan import Key
from orchestrator.bench.processes import cpu_s, files_bytes, memory_bytes, tree
from orchestrator.bench.target import Target
from orchestrator.bench.wire import REGION, connected

SHM = Path("/dev/shm")
SETTLED_S = 0.05
"""After an answer, until the server has counted it."""


@dataclass(frozen=True)
class Sample:
    """What one round saw of a cell; None is what could not be measured.

    Attributes:
        seconds: How long.
        latencies_ms: Of the calls.
        refused: Calls the server had no capacity for.
        errors: Calls that failed.
        first_error: What the first of them said.
        plates: In an answer.
        cpu_s: Of the server's processes, or of the process that holds the pipeline.
        client_cpu_s: Of the load generator.
        memory_bytes: Most of the same processes as `cpu_s`.
        shm_bytes: Most shared memory, the server's and the client's.
        counters: What the server counted in these seconds.
        whole_counters: What it counted from before the first call until after the last one.
    """

    seconds: float
    latencies_ms: tuple[float, ...]
    refused: int = 0
    errors: int = 0
    first_error: str = ""
    plates: int | None = None
    cpu_s: float | None = None
    client_cpu_s: float | None = None
    memory_bytes: int | None = None
    shm_bytes: int | None = None
    counters: Counters = field(default_factory=dict)
    whole_counters: Counters = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        """Pictures a second."""
        return len(self.latencies_ms) / self.seconds


class _Reading(NamedTuple):
    cpu_s: float
    client_cpu_s: float
    counters: Counters


class _Watch:
    """Reads what a server uses; of one that is not ours only what it tells."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.processes = tree(target.pid) if target.pid else frozenset()
        self.memory_bytes: list[int] = []
        self.shm_bytes: list[int] = []

    def snapshot(self) -> _Reading:
        counters = scrape(self.target.address.metrics)
        return _Reading(cpu_s(self.processes), time.process_time(), counters)

    def aside(self) -> None:
        if self.processes:
            self.memory_bytes.append(memory_bytes(self.processes))
            self.shm_bytes.append(files_bytes(SHM, (self.target.shm_prefix, REGION)))


def served(key: Key, picture: Picture, target: Target, seconds: float) -> Sample:
    """Measure one cell of the server.

    Raises:
        ServerError: The server's metrics cannot be read.
    """
    counts: list[int] = []
    watch = _Watch(target)

    def caller() -> Caller:
        return connected(key.transport, picture, target.address, counts.append)

    start = scrape(target.address.metrics)
    loop = closed_loop(caller, key.concurrency, seconds, snapshot=watch.snapshot, aside=watch.aside)
    time.sleep(SETTLED_S)
    return Sample(
        seconds=loop.seconds,
        latencies_ms=loop.latencies_ms,
        refused=loop.refused,
        errors=loop.errors,
        first_error=loop.first_error,
        plates=_most(counts),
        cpu_s=loop.after.cpu_s - loop.before.cpu_s if watch.processes else None,
        client_cpu_s=loop.after.client_cpu_s - loop.before.client_cpu_s,
        memory_bytes=_most(watch.memory_bytes),
        shm_bytes=_most(watch.shm_bytes),
        counters=difference(loop.before.counters, loop.after.counters),
        whole_counters=difference(start, scrape(target.address.metrics)),
    )


def in_process(key: Key, files: Mapping[str, Path], worker: Child, seconds: float) -> Sample:
    """Measure one cell of the same pipeline without a server.

    Raises:
        ServerError: The worker ended.
    """
    question = {"do": "load", "picture": str(files[key.picture])}
    answer = worker.ask(question | {"concurrency": key.concurrency, "seconds": seconds})
    return Sample(
        seconds=answer["seconds"],
        latencies_ms=tuple(answer["latencies_ms"]),
        errors=answer["errors"],
        first_error=answer["first_error"],
        plates=answer["plates"],
        cpu_s=answer["after"] - answer["before"],
        memory_bytes=answer["memory_bytes"],
    )


def _most(values: list[int]) -> int | None:
    return max(values) if values else None
