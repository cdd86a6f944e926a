"""Runs the replicas: services as operators run them, each on its own cores."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path

from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.service import Launch, Service


def deal(replicas: int, cores: Sequence[int], each: int) -> list[frozenset[int]]:
    """Assign `each` cores to every replica in turn; replicas share cores when there are too few.

    >>> deal(3, [0, 1], 1)
    [frozenset({0}), frozenset({1}), frozenset({0})]
    """
    supply = cycle(cores)
    return [frozenset(islice(supply, each)) for _ in range(replicas)]


@contextmanager
def run_replicas(count: int, cores_each: int = 1) -> Iterator[list[Service]]:
    """Run replicas on free ports for the length of a `with` block."""
    prepare(ServerOptions(device="cpu"))
    dealt = deal(count, sorted(os.sched_getaffinity(0)), cores_each)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plates-scale-out-")))
        replicas = [
            Service(folder / f"replica{index}", _run_on(cores))
            for index, cores in enumerate(dealt, start=1)
        ]
        for replica in replicas:
            stack.callback(replica.kill)
            stack.callback(replica.stop)
            replica.start()
        for replica in replicas:
            replica.wait_until_ready()
        yield replicas


def _run_on(cores: frozenset[int]) -> Launch:
    listed = ",".join(map(str, sorted(cores)))
    return Launch(prefix=("taskset", "--cpu-list", listed), flags=("--device=cpu",))
