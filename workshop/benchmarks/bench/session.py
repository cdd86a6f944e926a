"""Measures all rounds of a run, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

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
from workshop.benchmarks.load.closed_loop import Send
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
class Target:
    """A server, and one way to call it.

    Attributes:
        connect: Opens the connection of one caller, which sends the picture.
        find_pids: Returns the processes of the server; none if it is not ours.
        describe_end: Says why the server no longer runs; empty while it runs.
        metrics: The URL of its counters; empty without any.
        shm_prefixes: The prefixes of its files in shared memory.
    """

    connect: Callable[[Picture], AbstractContextManager[Send]]
    find_pids: Callable[[], frozenset[int]] = frozenset
    describe_end: Callable[[], str] = str
    metrics: str = ""
    shm_prefixes: tuple[str, ...] = ()

    def measure(self, picture: Picture, concurrency: int, seconds: float) -> Round:
        """Measure it under load, with the CPU time and the memory of its processes.

        Raises:
            ServerError: It has ended.
        """
        pids = self.find_pids()
        watch = Watch(pids, self.shm_prefixes)
        before = scrape(self.metrics)
        measured = measure_round(
            partial(self.connect, picture),
            concurrency,
            seconds,
            usage=lambda: Cpu(read_cpu_s(pids) if pids else None, time.process_time()),
            look=watch.look,
        )
        if self.metrics:
            time.sleep(SETTLED_S)
        counters = subtract(scrape(self.metrics), before)
        if reason := self.describe_end():
            raise ServerError(reason)
        return replace(measured, peaks=watch.peaks(), counters=counters)


@dataclass(frozen=True)
class Session:
    """The processes and the pictures of a run.

    Attributes:
        targets: By transport, what is measured.
        worker: The process of the bound; None when no cell needs it.
        server: The facts about the Triton among the targets.
    """

    targets: Mapping[str, Target]
    worker: Worker | None
    pictures: Mapping[str, Picture]
    server: ServerFacts | None = None

    def measure_cell(self, key: Key, seconds: float) -> Round:
        """Measure one cell once."""
        picture = self.pictures[key.picture]
        if key.transport == IN_PROCESS:
            assert self.worker is not None
            return self.worker.load(picture.encoded, key.concurrency, seconds)
        return self.targets[key.transport].measure(picture, key.concurrency, seconds)


def make_target(server: MeasuredServer, transport: str) -> Target:
    """Return a server behind a transport; its processes are known only if it is ours."""
    own = server.own
    return Target(
        lambda picture: connect(transport, picture, server.address, server.admin_key),
        lambda: find_tree(own.process.pid) if own else frozenset(),
        server.describe_end,
        server.address.metrics,
        (own.shm_prefix, REGION) if own else (),
    )


@contextmanager
def open_session(plan: Plan, pictures: Sequence[Picture]) -> Iterator[Session]:
    """Start the server and the worker, for the length of a `with` block."""
    with ExitStack() as stack:
        server = stack.enter_context(open_server(plan)) if plan.is_served else None
        facts, worker = server.facts if server else None, None
        if IN_PROCESS in plan.transports:
            parameters = facts.parameters if facts else {}
            worker = stack.enter_context(run_worker(choose_options(plan), parameters))
        targets = {name: make_target(server, name) for name in plan.transports} if server else {}
        yield Session(targets, worker, {picture.name: picture for picture in pictures}, facts)


Start = Callable[[Plan, Sequence[Picture]], AbstractContextManager[Session]]


def measure(plan: Plan, pictures: Sequence[Picture], start: Start = open_session) -> Results:
    """Measure every round; Ctrl-C or the end of a server stops it and keeps the results so far."""
    results = Results()
    with keep_results(results, results.rounds), start(plan, pictures) as session:
        results.server = session.server
        for done in repeat(
            list_keys(plan, list(session.pictures)),
            plan.rounds,
            lambda key: session.measure_cell(key, plan.seconds),
            results.rounds,
            block=lambda key: (key.picture, key.concurrency),
        ):
            results.rounds_done = done
    return results
