"""Measures all rounds of a run, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.bounds import Worker, run_worker
from workshop.benchmarks.bench.metrics import scrape, subtract
from workshop.benchmarks.bench.plan import IN_PROCESS, Key, Plan, list_keys
from workshop.benchmarks.bench.server import (
    MeasuredServer,
    ServerFacts,
    choose_options,
    open_server,
)
from workshop.benchmarks.bench.transports import REGION, connect
from workshop.benchmarks.load.rounds import Cpu, Round, keep_results, measure_round, repeat
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import Watch, find_tree, read_cpu_s

SETTLED_S = 0.05
"""The delay after an answer until the server has counted it, in seconds."""


@dataclass
class Results:
    """The results so far; `ended` says why a run ended early."""

    rounds: dict[Key, list[Round]] = field(default_factory=dict)
    server: ServerFacts | None = None
    ended: str = ""
    rounds_done: int = 0


@dataclass(frozen=True)
class Session:
    """The processes and the pictures of a run; a process is None when no cell needs it."""

    server: MeasuredServer | None
    worker: Worker | None
    pictures: Mapping[str, Picture]

    def measure_cell(self, key: Key, seconds: float) -> Round:
        """Measure one cell once."""
        picture = self.pictures[key.picture]
        if key.transport == IN_PROCESS:
            assert self.worker is not None
            return self.worker.load(picture.encoded, key.concurrency, seconds)
        assert self.server is not None
        measured = _measure_served(picture, self.server, key, seconds)
        if reason := self.server.describe_end():
            raise ServerError(reason)
        return measured


def _measure_served(picture: Picture, server: MeasuredServer, key: Key, seconds: float) -> Round:
    """Measure one cell of a server; CPU and memory only if the server is ours."""
    own = server.own
    pids = find_tree(own.process.pid) if own else frozenset()
    watch = Watch(pids, (own.shm_prefix, REGION) if own else ())
    before = scrape(server.address.metrics)
    measured = measure_round(
        lambda: connect(key.transport, picture, server.address, server.admin_key),
        key.concurrency,
        seconds,
        usage=lambda: Cpu(server=read_cpu_s(pids) if pids else None, client=time.process_time()),
        look=watch.look,
    )
    time.sleep(SETTLED_S)
    counters = subtract(scrape(server.address.metrics), before)
    return replace(measured, peaks=watch.peaks(), counters=counters)


@contextmanager
def open_session(plan: Plan, pictures: Sequence[Picture]) -> Iterator[Session]:
    """Start the server and the worker, for the length of a `with` block."""
    with ExitStack() as stack:
        server = stack.enter_context(open_server(plan)) if plan.is_served else None
        worker = None
        if IN_PROCESS in plan.transports:
            parameters = server.facts.parameters if server else {}
            worker = stack.enter_context(run_worker(choose_options(plan), parameters))
        yield Session(server, worker, {picture.name: picture for picture in pictures})


Start = Callable[[Plan, Sequence[Picture]], AbstractContextManager[Session]]


def measure(plan: Plan, pictures: Sequence[Picture], start: Start = open_session) -> Results:
    """Measure every round; Ctrl-C or the end of a server stops it and keeps the results so far."""
    results = Results()
    with keep_results(results, results.rounds), start(plan, pictures) as session:
        results.server = session.server.facts if session.server else None
        for done in repeat(
            list_keys(plan, list(session.pictures)),
            plan.rounds,
            lambda key: session.measure_cell(key, plan.seconds),
            results.rounds,
            block=lambda key: (key.picture, key.concurrency),
        ):
            results.rounds_done = done
    return results
