"""Measures all forms of a workload, round by round, with a server per number of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.compositions.answers import check, open_infer
from workshop.benchmarks.compositions.tables import Cell, CellFigures, Memory
from workshop.benchmarks.compositions.workloads import Form, Workload
from workshop.benchmarks.load.rounds import Round, repeat
from workshop.benchmarks.metrics import add_up, times_of
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import HTTP_ENCODED
from workshop.benchmarks.pooling import pool
from workshop.benchmarks.processes import count_bytes, find_workers
from workshop.benchmarks.server import MeasuredServer, start_server
from workshop.benchmarks.session import measure_served
from workshop.benchmarks.transports import PictureRequest


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
    """Measure a workload whose forms answer alike."""
    pictures = workload.draw()
    for instances in plan.instances:
        options = ServerOptions(repository=workload.repository, device="cpu", pictures=instances)
        with start_server(options, workload.lay_out, workload.forms[0].model) as server:
            check(workload, pictures, open_infer(server.address.http))
            results.triton = server.facts.version
            results.cells += _measure_cells(workload, pictures, instances, plan, server)
            results.memory += _measure_memory(workload, instances, server)


def _measure_cells(
    workload: Workload,
    pictures: Sequence[Picture],
    instances: int,
    plan: Plan,
    server: MeasuredServer,
) -> Iterator[CellFigures]:
    forms = {form.name: form for form in workload.forms}
    requests = {
        (form.name, one.name): PictureRequest(one, form.model, workload.outputs)
        for one in pictures
        for form in workload.forms
    }
    cells = [
        Cell(form, picture, instances, concurrency)
        for form, picture in requests
        for concurrency in plan.concurrencies
    ]

    def measure_cell(cell: Cell) -> Round:
        request = requests[cell.form, cell.picture]
        one = measure_served(request, server, HTTP_ENCODED, cell.concurrency, plan.seconds)
        if one.errors:
            raise ServerError(f"{cell}: wanted answers, got {one.first_error}")
        return one

    rounds: dict[Cell, list[Round]] = {}
    for _ in repeat(
        cells, plan.rounds, measure_cell, rounds, lambda cell: (cell.picture, cell.concurrency)
    ):
        pass
    for cell in cells:
        yield sum_up(workload.name, forms[cell.form], cell, rounds[cell])


def sum_up(workload: str, form: Form, cell: Cell, rounds: Sequence[Round]) -> CellFigures:
    """Return the figures of a cell; a call must have been answered."""
    counted = add_up(one.counters for one in rounds)
    called = counted[f"{form.model} request_success"]
    models = {name: times_of(name, counted, called) for name in form.workers}
    return CellFigures(workload, cell, pool(rounds), models)


def _measure_memory(workload: Workload, instances: int, server: MeasuredServer) -> Iterator[Memory]:
    """Measure the memory of each form's processes; the forms share the networks."""
    assert server.own is not None
    groups = {form.name: form.python for form in workload.forms}
    groups["networks"] = workload.forms[0].networks
    for name, models in groups.items():
        pids = [pid for model in models for pid in find_workers(server.own.process.pid, model)]
        yield Memory(workload.name, instances, name, len(pids), count_bytes(pids))
