"""Measures all rounds of a run, cell by cell, and the bound: the same pipeline without a server.

The pipeline of the bound runs in a separate process, which waits for jobs without CPU time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from orchestrator.errors import ServerError
from orchestrator.pipeline import recognize
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.triton.stages import UNPACKING, Stopwatch
from workshop.benchmarks.bench.metrics import Counters, add_up, read_stopwatch, scrape, subtract
from workshop.benchmarks.bench.plan import IN_PROCESS, Key, Plan, list_keys
from workshop.benchmarks.bench.server import (
    MeasuredServer,
    Parameters,
    Pipeline,
    ServerFacts,
    choose_options,
    choose_variables,
    open_pipeline,
    open_server,
)
from workshop.benchmarks.bench.transports import connect
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.rounds import Cpu, Round, keep_results, measure_round, repeat
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import Watch, find_tree, read_cpu_s, set_variables


def measure_load(pipeline: Pipeline, file_bytes: bytes, concurrency: int, seconds: float) -> Round:
    """Measure the pipeline, from the bytes of a file to plates, in a number of threads."""
    readings: list[Counters] = []

    @contextmanager
    def caller() -> Iterator[Send]:
        torch.set_flush_denormal(True)  # a flag per thread
        yield lambda number: Outcome(plates=_recognize(pipeline, file_bytes, readings))

    watch = Watch(frozenset({os.getpid()}))
    result = measure_round(
        caller,
        concurrency,
        seconds,
        usage=lambda: Cpu(server=time.process_time()),
        look=watch.look,
    )
    return replace(result, peaks=watch.peaks(), counters=add_up(readings))


@torch.inference_mode()
def _recognize(pipeline: Pipeline, file_bytes: bytes, readings: list[Counters]) -> int:
    """Return the number of plates; append the times of the stages to `readings`."""
    watch = Stopwatch(pipeline.infer)
    picture = pipeline.decode(file_bytes)
    watch.lap(UNPACKING)
    plates = recognize(picture, watch, pipeline.settings)
    watch.finish()
    readings.append(read_stopwatch(watch))
    return len(plates)


_pipelines: list[Pipeline] = []
"""The pipeline of the worker process; empty in its parent."""


@dataclass(frozen=True)
class Worker:
    """The process that runs the pipeline, as its parent sees it; use `run_worker`."""

    pool: ProcessPoolExecutor

    def load(self, file_bytes: bytes, concurrency: int, seconds: float) -> Round:
        """Measure the pipeline under load."""
        try:
            return self.pool.submit(_measure, file_bytes, concurrency, seconds).result()
        except BrokenProcessPool as error:
            raise ServerError(f"in-process: the worker process ended: {error}") from error


@contextmanager
def run_worker(options: ServerOptions, parameters: Parameters) -> Iterator[Worker]:
    """Run the pipeline in a separate process, as a server runs it, for a `with` block."""
    spawn = multiprocessing.get_context("spawn")  # its imports see the variables
    ignore = (signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=signal.signal, initargs=ignore)
    with pool:
        with set_variables(choose_variables(options)):
            opening = pool.submit(_open, options, parameters)
        opening.result()
        yield Worker(pool)


def _open(options: ServerOptions, parameters: Parameters) -> None:
    _pipelines.append(open_pipeline(options, parameters))


def _measure(file_bytes: bytes, concurrency: int, seconds: float) -> Round:
    return measure_load(_pipelines[0], file_bytes, concurrency, seconds)


SETTLED_S = 0.05
"""The delay after an answer until the server has counted it, in seconds."""


@dataclass
class Results:
    """The results so far; `ended` says why a run ended early."""

    rounds: dict[Key, list[Round]] = field(default_factory=dict)
    server: ServerFacts | None = None
    end_reason: str = ""
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
        result = measure_round(
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
        return replace(result, peaks=watch.peaks(), counters=counters)


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
            return self.worker.load(picture.file_bytes, key.concurrency, seconds)
        return self.targets[key.transport].measure(picture, key.concurrency, seconds)


def make_target(server: MeasuredServer, transport: str) -> Target:
    """Return a server behind a transport; its processes are known only if it is ours."""
    own = server.own
    return Target(
        lambda picture: connect(transport, picture, server.address),
        lambda: find_tree(own.process.pid) if own else frozenset(),
        server.describe_end,
        server.address.metrics,
        (own.shm_prefix,) if own else (),
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
        for count in repeat(
            list_keys(plan, list(session.pictures)),
            plan.rounds,
            lambda key: session.measure_cell(key, plan.seconds),
            results.rounds,
            block=lambda key: (key.picture, key.concurrency),
        ):
            results.rounds_done = count
    return results
