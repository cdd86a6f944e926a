"""Starts all compared servers. All of them run, and one at a time is under load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.errors import SettingsError
from orchestrator.host.resources import usable_cores
from workshop.benchmarks.bench.bounds import Worker, run_worker
from workshop.benchmarks.bench.plan import Key, Plan
from workshop.benchmarks.bench.server import choose_options
from workshop.benchmarks.bench.session import IdleServer, Session
from workshop.benchmarks.peers.answers import check_alike
from workshop.benchmarks.peers.servers import ComparedServer, open_servers
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import count_bytes

WARM_UP_S = 0.2
WARM_UP_CALLS = 4
"""Calls at once for each worker while a server warms up, so that every worker gets some."""


@contextmanager
def open_peers(plan: Plan, pictures: Sequence[Picture]) -> Iterator[Session]:
    """Run all servers for the length of a `with` block; a worker of each peer for each core.

    Raises:
        SettingsError: The networks would run on a GPU, which the peers do not use.
        ModelError: A server answers otherwise than the pipeline in process.
    """
    options = choose_options(plan)
    if options.capacity().on_gpu:
        raise SettingsError("peers: wanted --device cpu, because peers run on a CPU; got a GPU")
    with (
        open_servers(options, usable_cores()) as compared,
        run_worker(options, compared.triton.facts.parameters) as worker,
    ):
        for picture in pictures:
            check_answers(compared.several, worker, picture)
        workers = compared.settings.workers
        session = Session(
            {server.name: server.target for server in compared.several},
            worker,
            {picture.name: picture for picture in pictures},
            compared.triton.facts,
            workers=workers,
        )
        for picture in pictures:
            for server in plan.transports:
                key = Key(picture.name, server, WARM_UP_CALLS * workers)
                session.measure_cell(key, WARM_UP_S)
        yield replace(session, servers=tuple(map(describe_idle, compared.several)))


def check_answers(servers: Sequence[ComparedServer], worker: Worker, picture: Picture) -> None:
    """Check that all servers give the answers of the pipeline in process.

    Raises:
        ModelError: One does not.
    """
    answers = {server.name: server.answer(picture.encoded) for server in servers}
    check_alike(picture.name, worker.read(picture.encoded), answers)


def describe_idle(server: ComparedServer) -> IdleServer:
    """Return the processes and the memory of a server without load."""
    pids = server.find_pids()
    return IdleServer(server.name, server.version, len(pids), count_bytes(pids))
