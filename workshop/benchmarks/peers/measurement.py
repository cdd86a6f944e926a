"""Measures all servers in turns: all of them run, and one at a time is under load."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.resources import usable_cores
from workshop.benchmarks.bench.bounds import Worker, run_worker
from workshop.benchmarks.bench.plan import IN_PROCESS, Plan
from workshop.benchmarks.bench.server import ServerFacts, choose_options
from workshop.benchmarks.load.closed_loop import Outcome, send_by
from workshop.benchmarks.load.connections import ANSWERED, Connection
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import Cpu, Round, keep_results, measure_round, repeat
from workshop.benchmarks.peers.answers import Reading, check_alike
from workshop.benchmarks.peers.cells import Cell, list_cells
from workshop.benchmarks.peers.servers import ComparedServer, ComparedServers, open_servers
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import Watch, count_bytes, read_cpu_s

WARM_UP_S = 0.2
WARM_UP_CALLS = 4
"""Calls at once for each worker while a server warms up, so that every worker gets some."""


@dataclass(frozen=True)
class IdleServer:
    """A server before the load.

    Attributes:
        processes: The number of its processes.
        memory_bytes: Their memory; each process counts its part of shared pages (PSS).
    """

    name: str
    version: str
    processes: int
    memory_bytes: int


@dataclass
class Results:
    """The results so far.

    Attributes:
        cells: All cells of the run, measured or not.
        triton: The facts about the compared Triton.
        ended: The reason why the run ended early.
    """

    cells: list[Cell] = field(default_factory=list)
    rounds: dict[Cell, list[Round]] = field(default_factory=dict)
    triton: ServerFacts | None = None
    idle: list[IdleServer] = field(default_factory=list)
    workers: int = 0
    ended: str = ""
    rounds_done: int = 0


@dataclass(frozen=True)
class Session:
    """The servers, the process of the bound, and the pictures of a run."""

    compared: ComparedServers
    worker: Worker
    pictures: Mapping[str, Picture]

    @property
    def servers(self) -> Mapping[str, ComparedServer]:
        return {server.name: server for server in self.compared.several}

    def check_answers(self) -> None:
        """Check that all servers give the answers of the pipeline in process."""
        for picture in self.pictures.values():
            plates = self.worker.read(picture.encoded)
            wanted = tuple(Reading(plate.text, plate.xyxy) for plate in plates)
            got = {name: server.answer(picture.encoded) for name, server in self.servers.items()}
            check_alike(picture.name, wanted, got)

    def warm_up(self) -> None:
        """Let every worker of every server process every picture."""
        calls = WARM_UP_CALLS * self.compared.settings.workers
        for picture in self.pictures:
            for server in (*self.servers, IN_PROCESS):
                self.measure_cell(Cell(picture, server, calls), WARM_UP_S)

    def measure_cell(self, cell: Cell, seconds: float) -> Round:
        """Measure one cell once."""
        encoded = self.pictures[cell.picture].encoded
        if cell.server == IN_PROCESS:
            return self.worker.load(encoded, cell.concurrency, seconds)
        server = self.servers[cell.server]
        measured = measure_server(server, encoded, cell, seconds)
        if reason := server.describe_end():
            raise ServerError(reason)
        return measured


def measure_server(server: ComparedServer, encoded: bytes, cell: Cell, seconds: float) -> Round:
    """Measure a server under the load of a cell, with the CPU time and memory of its processes."""
    request, pids = server.build(encoded), server.find_pids()
    watch = Watch(pids)
    measured = measure_round(
        send_by(partial(Connection, server.address), partial(_send, server, request)),
        cell.concurrency,
        seconds,
        usage=lambda: Cpu(server=read_cpu_s(pids), client=time.process_time()),
        look=watch.look,
    )
    return replace(measured, peaks=watch.peaks())


def _send(
    server: ComparedServer, request: HttpRequest, connection: Connection, number: int
) -> Outcome:
    reply = connection.send(request)
    if reply.status != ANSWERED:
        return Outcome(reply.status, error=f"{reply.status}: {reply.error}")
    return Outcome(plates=server.count(request, reply))


@contextmanager
def open_session(plan: Plan, pictures: Sequence[Picture]) -> Iterator[Session]:
    """Start everything for the length of a `with` block; a worker of each peer for each core.

    Raises:
        SettingsError: The networks would run on a GPU, which the peers do not use.
    """
    options = choose_options(plan)
    if options.capacity().on_gpu:
        raise SettingsError("peers: wanted --device cpu, because peers run on a CPU; got a GPU")
    with (
        open_servers(options, usable_cores()) as compared,
        run_worker(options, compared.triton.facts.parameters) as worker,
    ):
        yield Session(compared, worker, {picture.name: picture for picture in pictures})


def measure(plan: Plan, pictures: Sequence[Picture]) -> Results:
    """Measure every round; Ctrl-C or the end of a server stops it and keeps the results so far."""
    results = Results()
    with keep_results(results, results.rounds), open_session(plan, pictures) as session:
        session.check_answers()
        session.warm_up()
        _describe(session, plan, results)
        for done in repeat(
            results.cells,
            plan.rounds,
            lambda cell: session.measure_cell(cell, plan.seconds),
            results.rounds,
            block=lambda cell: cell.block,
        ):
            results.rounds_done = done
    return results


def _describe(session: Session, plan: Plan, results: Results) -> None:
    """Fill in everything that is known before the first round."""
    compared = session.compared
    results.triton, results.workers = compared.triton.facts, compared.settings.workers
    results.cells = list_cells([*session.pictures], [*session.servers], plan.concurrencies)
    for name, server in session.servers.items():
        pids = server.find_pids()
        results.idle.append(IdleServer(name, server.version, len(pids), count_bytes(pids)))
