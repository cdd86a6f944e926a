"""Formats a run as text: ratios first, then the cells and the stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.contract import STAGES
from orchestrator.networks.registry import NETWORKS
from workshop.benchmarks.bench.metrics import ModelTimes
from workshop.benchmarks.bench.plan import HTTP_ENCODED, IN_PROCESS
from workshop.benchmarks.bench.pooling import CellFigures
from workshop.benchmarks.bench.ratios import Ratio
from workshop.benchmarks.bench.report import BenchReport
from workshop.reporting.tables import Cell, format_table

STAGED = (1, 4)
"""The numbers of calls at once with printed stages; `report.json` has all."""
MB = 1e6


def format_report(report: BenchReport) -> str:
    """Return the text that is printed about a run."""
    parts = (
        _head(report),
        _ratios(report.ratios),
        _cells(report),
        _stages(report.cells),
        _networks(report.cells),
        "\n".join(report.notes),
    )
    return "\n\n".join(filter(None, parts))


def _format_rows(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table, or an empty text without rows."""
    lines = [*rows]
    return format_table(header, lines) if lines else ""


def _head(report: BenchReport) -> str:
    machine = report.machine
    gpu = f", {machine.gpu}" if machine.gpu else ""
    versions = {"Triton": machine.triton, **machine.packages}
    software = [f"{n} {versions[n]}" for n in ("Triton", "torch", "openvino") if versions.get(n)]
    engine = [report.server.engine] if report.server and report.server.engine else []
    return (
        f"{machine.cores} cores, {machine.cpu}{gpu}; {', '.join([*software, *engine])}\n"
        f"{report.rounds_done} of {report.conditions.rounds} rounds, "
        f"{report.conditions.seconds:g} s for each cell; x4: four calls at once"
    )


def _ratios(ratios: Sequence[Ratio]) -> str:
    pictures = list(dict.fromkeys(ratio.picture for ratio in ratios))
    values = {(ratio.title, ratio.concurrency, ratio.picture): ratio.value for ratio in ratios}
    return _format_rows(
        ("ratios", *pictures),
        (
            (f"{title}, x{count}", *(values.get((title, count, picture)) for picture in pictures))
            for title in dict.fromkeys(ratio.title for ratio in ratios)
            for count in sorted({ratio.concurrency for ratio in ratios if ratio.title == title})
        ),
    )


def _cells(report: BenchReport) -> str:
    header = (
        "picture", "transport", "", "found", "calls", "errors", "refused", "pictures/s",
        "p50 ms", "p99 ms", "CPU ms", "cores", "client ms", "MB", "shm MB",
    )  # fmt: skip
    return _format_rows(header, map(_cell, report.cells))


def _place(cell: CellFigures) -> tuple[str, str, str]:
    return cell.key.picture, cell.key.transport, f"x{cell.key.concurrency}"


def _cell(cell: CellFigures) -> tuple[str | float | None, ...]:
    load, sizes = cell.load, (cell.peaks.memory_bytes, cell.peaks.shm_bytes)
    cpu = (load.cpu_ms.server, load.cores, load.cpu_ms.client)
    times = (load.throughput, load.p50_ms, load.p99_ms, *cpu)
    counts = (cell.plates, load.calls, load.errors, load.refused)
    return (*_place(cell), *counts, *times, *(None if s is None else s / MB for s in sizes))


def _shown(cells: Sequence[CellFigures]) -> list[CellFigures]:
    """Return the cells with printed stages: `http-encoded`, or else the first served transport."""
    served = [cell.key.transport for cell in cells if cell.key.transport != IN_PROCESS]
    shown = HTTP_ENCODED if HTTP_ENCODED in served else next(iter(served), "")
    return [
        cell
        for cell in cells
        if cell.key.transport in (shown, IN_PROCESS) and cell.key.concurrency in STAGED
    ]


def _stages(cells: Sequence[CellFigures]) -> str:
    return _format_rows(
        ("stages, ms a picture", "", "", *STAGES, "all"),
        (
            (*_place(cell), *(times[name] for name in STAGES), sum(times.values()))
            for cell in _shown(cells)
            if cell.inside and (times := cell.inside.stages_ms)
        ),
    )


def _networks(cells: Sequence[CellFigures]) -> str:
    columns = [column for name in NETWORKS for column in (f"{name} queue", "run", "batch")]
    return _format_rows(
        ("served, ms a picture", "", "", "queue", "run", *columns),
        (
            (*_place(cell), *_times(cell.inside.whole, cell.inside.networks))
            for cell in _shown(cells)
            if cell.inside and cell.inside.whole
        ),
    )


def _times(whole: ModelTimes, networks: Mapping[str, ModelTimes]) -> Iterator[float | None]:
    yield from (whole.queue_ms, whole.compute_ms)
    for model in (networks[name] for name in NETWORKS):
        yield from (model.queue_ms, model.compute_ms, model.batch if model.calls else None)
