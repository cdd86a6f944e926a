"""Measures all rounds of a run, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import typer

from orchestrator.errors import PlateError, ServerError
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round
from workshop.benchmarks.metrics import scrape, subtract
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import IN_PROCESS, Key, Plan, list_keys, shuffle
from workshop.benchmarks.processes import Watch, find_tree, read_cpu_s
from workshop.benchmarks.server import MeasuredServer, ServerFacts, choose_options, open_server
from workshop.benchmarks.transports import REGION, PictureRequest, connect
from workshop.benchmarks.worker import Worker, run_worker

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
    """The processes and the pictures of a run.

    Attributes:
        server: The server under load; None when no cell needs one.
    """

    server: MeasuredServer | None
    worker: Worker
    pictures: Mapping[str, Picture]

    def measure_cell(self, key: Key, seconds: float) -> Round:
        """Measure one cell once.

        Raises:
            ServerError: The server or the worker has ended.
        """
        picture = self.pictures[key.picture]
        if key.transport == IN_PROCESS:
            return self.worker.load(picture.encoded, key.concurrency, seconds)
        assert self.server is not None
        measured = measure_served(key, PictureRequest(picture), self.server, seconds)
        if reason := self.server.describe_end():
            raise ServerError(reason)
        return measured


def measure_served(
    key: Key, request: PictureRequest, server: MeasuredServer, seconds: float
) -> Round:
    """Measure one cell of a server; CPU and memory only if the server is ours.

    Raises:
        ServerError: The server's metrics cannot be read.
    """
    own = server.own
    pids = find_tree(own.process.pid) if own else frozenset()
    watch = Watch(pids, (own.shm_prefix, REGION) if own else ())
    before = scrape(server.address.metrics)
    measured = measure_round(
        lambda: connect(key.transport, request, server.address, server.admin_key),
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
    """Start the server and the worker, for the length of a `with` block.

    Raises:
        PlateError: The server or the worker cannot be started.
    """
    with ExitStack() as stack:
        server = stack.enter_context(open_server(plan)) if plan.is_served else None
        parameters = server.facts.parameters if server else {}
        worker = stack.enter_context(run_worker(choose_options(plan), parameters))
        by_name = {one.name: one for one in pictures}
        yield Session(server, worker, by_name)


Start = Callable[[Plan, Sequence[Picture]], AbstractContextManager[Session]]


def measure(plan: Plan, pictures: Sequence[Picture], start: Start = open_session) -> Results:
    """Measure every round; Ctrl-C or the end of a server stops it and keeps the results so far.

    Raises:
        PlateError: The server or worker cannot be started, or ended before any result.
    """
    results = Results()
    try:
        with start(plan, pictures) as session:
            results.server = session.server.facts if session.server else None
            _measure_rounds(plan, session, results)
    except KeyboardInterrupt:
        results.ended = "interrupted"
    except PlateError as error:
        if not results.rounds:
            raise
        results.ended = str(error)
    return results


def _measure_rounds(plan: Plan, session: Session, results: Results) -> None:
    cells = list_keys(plan, list(session.pictures))
    started, done, all_cells = time.monotonic(), 0, plan.rounds * len(cells)
    for round_ in range(plan.rounds):
        for key in shuffle(cells, round_):
            measured = session.measure_cell(key, plan.seconds)
            results.rounds.setdefault(key, []).append(measured)
            done += 1
            rest_s = (time.monotonic() - started) * (all_cells - done) / done
            typer.echo(f"{done}/{all_cells}  {_format_progress(key, measured, rest_s)}", err=True)
        results.rounds_done += 1


def _format_progress(key: Key, measured: Round, rest_s: float) -> str:
    failed = f", {measured.errors} errors" if measured.errors else ""
    left = f"{rest_s / 60:.0f} min" if rest_s >= 90 else f"{rest_s:.0f} s"
    return (
        f"{key.picture}, {key.transport} x{key.concurrency}: "
        f"{measured.throughput:.1f} pictures/s{failed}; about {left} left"
    )
