"""Measures all forms of a workload, round by round, with a server per number of instances."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import typer

from orchestrator.errors import ServerError
from orchestrator.supervisor.local_server import on_free_ports, prepare
from orchestrator.supervisor.model_repository import CONFIG, read_config
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.triton_server import Server
from orchestrator.supervisor.triton_start import run_server
from workshop.benchmarks.compositions.answers import check, inputs_of
from workshop.benchmarks.compositions.figures import Cell, CellFigures, Memory, Sample, sum_up
from workshop.benchmarks.compositions.spending import Ledger, group
from workshop.benchmarks.compositions.traffic import Traffic, ask_over_http, count, walk
from workshop.benchmarks.compositions.workloads import Form, Workload
from workshop.benchmarks.load import run_closed_loop
from workshop.benchmarks.metrics import read_url, scrape, subtract
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import HTTP_ENCODED, Address, shuffle
from workshop.benchmarks.processes import count_bytes, find_workers
from workshop.benchmarks.session import SETTLED_S
from workshop.benchmarks.wire import Question, connect


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
    traffic: dict[str, dict[str, dict[str, Traffic]]] = field(default_factory=dict)


def measure(workload: Workload, plan: Plan, results: Results) -> None:
    """Measure a workload.

    Raises:
        PlateError: A server cannot be started, the forms do not answer alike, or a call failed.
    """
    pictures = workload.draw()
    for instances in plan.instances:
        options = ServerOptions(repository=workload.repository, device="cpu", pictures=instances)
        with run_server(on_free_ports(prepare(options)), workload.lay_out) as server:
            ask = ask_over_http(server.options.http_url)
            check(workload, pictures, ask)
            about = read_url(f"http://{server.options.http_url}/v2", json.loads)
            results.triton = about["version"]
            traffic = {one.name: count_traffic(workload, one, server) for one in pictures}
            results.traffic[workload.name] = traffic
            results.cells += _measure_cells(workload, pictures, instances, plan, server, traffic)
            results.memory += _weigh(workload, instances, server.process.pid)


def count_traffic(workload: Workload, picture: Picture, server: Server) -> dict[str, Traffic]:
    """Return the bytes of each model's inputs and outputs for a picture."""
    ask, inputs = ask_over_http(server.options.http_url), inputs_of(picture)
    found: dict[str, Traffic] = {}
    for form in workload.forms:
        if not form.is_calling:
            folder = server.folder.path / "repository" / form.model
            found |= walk(read_config(folder / CONFIG), inputs, ask)
        given = ask(form.model, inputs, workload.outputs)
        found[form.model] = Traffic(count(inputs.values()), count(given.values()))
    return found


def _measure_cells(
    workload: Workload,
    pictures: Sequence[Picture],
    instances: int,
    plan: Plan,
    server: Server,
    traffic: Mapping[str, Mapping[str, Traffic]],
) -> Iterator[CellFigures]:
    forms = {form.name: form for form in workload.forms}
    by_name = {picture.name: picture for picture in pictures}
    cells = [
        Cell(form, picture, instances, concurrency)
        for picture in by_name
        for form in forms
        for concurrency in plan.concurrencies
    ]
    samples: dict[Cell, list[Sample]] = {cell: [] for cell in cells}
    for round_ in range(plan.rounds):
        for cell in shuffle(cells, round_):
            question = Question(by_name[cell.picture], forms[cell.form].model, workload.outputs)
            sample = measure_cell(
                forms[cell.form], question, cell.concurrency, plan.seconds, server
            )
            samples[cell].append(sample)
            typer.echo(f"{workload.name}, {cell}: {sample.round.throughput:.1f}/s", err=True)
    cores = len(os.sched_getaffinity(0))
    for cell, found in samples.items():
        form = forms[cell.form]
        yield sum_up(workload.name, form, cell, found, traffic[cell.picture], cores)


def measure_cell(
    form: Form, question: Question, concurrency: int, seconds: float, server: Server
) -> Sample:
    """Measure one round of a cell.

    Raises:
        ServerError: A call failed.
    """
    options = server.options
    address = Address(options.http_url, options.grpc_url, options.metrics_url)
    ledger = Ledger(group(server.process.pid, form))
    before = scrape(address.metrics)
    measured = run_closed_loop(
        lambda: connect(HTTP_ENCODED, question, address), concurrency, seconds, usage=ledger.read
    )
    if measured.errors:
        raise ServerError(f"{question.model}: wanted answers, got {measured.first_error}")
    time.sleep(SETTLED_S)
    counters = subtract(scrape(address.metrics), before)
    return Sample(replace(measured, counters=counters), ledger.used(), ledger.machine_s())


def _weigh(workload: Workload, instances: int, root: int) -> Iterator[Memory]:
    """Measure the memory of each form's processes; the forms share the networks."""
    groups = {form.name: form.python for form in workload.forms}
    groups["networks"] = workload.forms[0].networks
    for name, models in groups.items():
        pids = [pid for model in models for pid in find_workers(root, model)]
        yield Memory(workload.name, instances, name, len(pids), count_bytes(pids))
