"""Measures all forms of a workload, round by round, with a server per number of instances."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import typer

from orchestrator.errors import ServerError
from orchestrator.supervisor.local_server import on_free_ports, prepare
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.triton_server import Server
from orchestrator.supervisor.triton_start import run_server
from workshop.benchmarks.compositions.answers import check, open_infer
from workshop.benchmarks.compositions.figures import Cell, CellFigures, Memory
from workshop.benchmarks.compositions.workloads import Form, Workload
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round
from workshop.benchmarks.metrics import add_up, read_url, scrape, subtract, times_of
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import HTTP_ENCODED, Address, shuffle
from workshop.benchmarks.pooling import pool
from workshop.benchmarks.processes import count_bytes, find_tree, find_workers, read_cpu_s
from workshop.benchmarks.session import SETTLED_S
from workshop.benchmarks.transports import PictureRequest, connect


@dataclass(frozen=True)
class Plan:
    """The plan of a run: the cells, and the length and number of rounds."""

    instances: tuple[int, ...]
    concurrencies: tuple[int, ...]
    seconds: float
    rounds: int


@dataclass
class Results:
    """The results so far; `triton` is the version of Triton."""

    triton: str = ""
    cells: list[CellFigures] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)


def measure(workload: Workload, plan: Plan, results: Results) -> None:
    """Measure a workload.

    Raises:
        PlateError: A server cannot be started, the forms do not answer alike, or a call failed.
    """
    pictures = workload.draw()
    for instances in plan.instances:
        options = ServerOptions(repository=workload.repository, device="cpu", pictures=instances)
        with run_server(on_free_ports(prepare(options)), workload.lay_out) as server:
            url = server.options.http_url
            check(workload, pictures, open_infer(url))
            results.triton = read_url(f"http://{url}/v2", json.loads)["version"]
            results.cells += _measure_cells(workload, pictures, instances, plan, server)
            results.memory += _measure_memory(workload, instances, server.process.pid)


def _measure_cells(
    workload: Workload, pictures: Sequence[Picture], instances: int, plan: Plan, server: Server
) -> Iterator[CellFigures]:
    forms = {form.name: form for form in workload.forms}
    by_name = {picture.name: picture for picture in pictures}
    cells = [
        Cell(form, picture, instances, concurrency)
        for picture in by_name
        for form in forms
        for concurrency in plan.concurrencies
    ]
    rounds: dict[Cell, list[Round]] = {cell: [] for cell in cells}
    for round_ in range(plan.rounds):
        for cell in shuffle(cells, round_):
            model = forms[cell.form].model
            request = PictureRequest(by_name[cell.picture], model, workload.outputs)
            measured = measure_cell(request, cell.concurrency, plan.seconds, server)
            rounds[cell].append(measured)
            typer.echo(f"{workload.name}, {cell}: {measured.throughput:.1f}/s", err=True)
    for cell, many in rounds.items():
        yield sum_up(workload.name, forms[cell.form], cell, many)


def measure_cell(
    request: PictureRequest, concurrency: int, seconds: float, server: Server
) -> Round:
    """Measure one round of a cell.

    Raises:
        ServerError: A call failed.
    """
    options = server.options
    address = Address(options.http_url, options.grpc_url, options.metrics_url)
    pids = find_tree(server.process.pid)
    before = scrape(address.metrics)
    measured = measure_round(
        partial(connect, HTTP_ENCODED, request, address),
        concurrency,
        seconds,
        usage=lambda: Cpu(server=read_cpu_s(pids)),
    )
    if measured.errors:
        raise ServerError(f"{request.model}: wanted answers, got {measured.first_error}")
    time.sleep(SETTLED_S)
    return replace(measured, counters=subtract(scrape(address.metrics), before))


def sum_up(workload: str, form: Form, cell: Cell, rounds: Sequence[Round]) -> CellFigures:
    """Return the figures of a cell; a call must have been answered."""
    counted = add_up(one.counters for one in rounds)
    called = counted[f"{form.model} request_success"]
    models = {name: times_of(name, counted, called) for name in form.workers}
    return CellFigures(workload, cell, pool(rounds), models)


def _measure_memory(workload: Workload, instances: int, root: int) -> Iterator[Memory]:
    """Measure the memory of each form's processes; the forms share the networks."""
    groups = {form.name: form.python for form in workload.forms}
    groups["networks"] = workload.forms[0].networks
    for name, models in groups.items():
        pids = [pid for model in models for pid in find_workers(root, model)]
        yield Memory(workload.name, instances, name, len(pids), count_bytes(pids))
