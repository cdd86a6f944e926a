"""Measures the same calls to Triton directly and through the gateway, then a flood of callers."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.serving.gateway.launcher import start
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.load.closed_loop import Outcome, send_by
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.load.requests import HttpRequest, file, kserve_http
from workshop.benchmarks.load.rounds import Round, measure_round, repeat
from workshop.benchmarks.pooling import LoadFigures, pool
from workshop.benchmarks.processes import count_bytes, find_tree

BARE, GATEWAY = "bare Triton", "gateway"
CALLERS = (1, 4, 16)
ROUNDS = 5
USUAL, FLOOD = 16, 200
"""Numbers of callers: enough to keep the service busy, and far too many."""
Measure = Callable[[str, HttpRequest, int, float], Round]
"""Measures a number of callers of an address, for some seconds."""


@dataclass(frozen=True)
class Services:
    """The addresses of both servers by name, and the process ID of the gateway."""

    addresses: Mapping[str, str]
    gateway: int


class Cell(NamedTuple):
    """A picture, a number of callers at once, and the server that they call."""

    picture: str
    callers: int
    server: str

    def __str__(self) -> str:
        return f"{self.picture}, {self.server} x{self.callers}"


@dataclass(frozen=True)
class Flood:
    """The results of the callers of one server, and the gateway's memory before and after, MiB."""

    server: str
    callers: int
    round: Round
    before_mb: float
    after_mb: float


@contextmanager
def open_services() -> Iterator[Services]:
    """Run a Triton server and a gateway in front of it for the length of a `with` block."""
    with own_server(ServerOptions()) as server:
        flags = GatewayFlags(http_port=0, grpc_port=0, metrics_port=0, audit=Path(os.devnull))
        gateway = start(flags.to_options(server))
        try:
            ports = {BARE: server.http_port, GATEWAY: gateway.options.http.port}
            addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
            yield Services(addresses, gateway.workers[0].process.pid)
        finally:
            gateway.stop()


@contextmanager
def run_callers() -> Iterator[Measure]:
    """Run a process for the callers, with its own threads, for the length of a `with` block."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        yield lambda *load: pool.submit(_measure, *load).result()


def _measure(address: str, request: HttpRequest, concurrency: int, seconds: float) -> Round:
    connect = send_by(partial(Connection, address), partial(_send, request))
    return measure_round(connect, concurrency, seconds, backoff_s=0.0)


def _send(request: HttpRequest, connection: Connection, number: int) -> Outcome:
    reply = connection.send(request)
    return Outcome(reply.status, error=reply.error)


def measure_costs(
    services: Services, pictures: Sequence[Path], seconds: float, measure: Measure
) -> dict[Cell, LoadFigures]:
    """Measure both servers with every combination of picture and number of callers."""
    requests = {one.stem: _build(one) for one in pictures}

    def measure_cell(cell: Cell) -> Round:
        address = services.addresses[cell.server]
        return measure(address, requests[cell.picture], cell.callers, seconds)

    cells = [
        Cell(name, callers, server)
        for name in requests
        for callers in CALLERS
        for server in services.addresses
    ]
    measured: dict[Cell, list[Round]] = {}
    for _ in repeat(cells, ROUNDS, measure_cell, measured, block=lambda cell: cell[:2]):
        pass
    return {cell: pool(measured[cell]) for cell in cells}


def _build(picture: Path) -> HttpRequest:
    return kserve_http([file(picture.read_bytes())], outputs=("texts",))


def measure_flood(
    services: Services, picture: Path, seconds: float, measure: Measure
) -> Iterator[Flood]:
    """Measure each server twice: with the usual number of callers, then with a flood."""
    for name, address in services.addresses.items():
        for callers in (USUAL, FLOOD):
            before = _memory_mb(services.gateway)
            measured = measure(address, _build(picture), callers, seconds)
            yield Flood(name, callers, measured, before, _memory_mb(services.gateway))


def _memory_mb(process: int) -> float:
    return count_bytes(find_tree(process)) / 2**20
