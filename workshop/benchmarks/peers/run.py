"""Runs one comparison, and writes its tables in Markdown, which is readable without rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workshop.benchmarks.bench.plan import Plan
from workshop.benchmarks.bench.ratios import Ratio
from workshop.benchmarks.peers.measurement import measure
from workshop.benchmarks.peers.report import PeerFigures, PeersReport, write_up
from workshop.benchmarks.pictures import prepare_pictures
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.tables import Cell as TableCell
from workshop.reporting.tables import format_markdown

MB = 1e6
CELLS = (
    "picture", "calls at once", "server", "found", "calls", "errors", "refused",
    "calls/s", "p50 ms", "p99 ms", "CPU ms", "cores", "client ms", "MB",
)  # fmt: skip
SERVERS = ("server", "version", "processes", "idle MB")


def run_peers(plan: Plan) -> tuple[PeersReport, str]:
    """Measure all servers and write `peers.json` and `peers.md`; return the report and its text."""
    pictures = prepare_pictures(plan.files, plan.plates)
    prepare_folder(plan.out)
    report = write_up(plan, pictures, measure(plan, pictures))
    text = format_tables(report)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "peers.json")
        (plan.out / "peers.md").write_text(text, encoding="utf-8")
    return report, text


def format_tables(report: PeersReport) -> str:
    """Return the text that is printed about a run: ratios first, then cells and servers."""
    parts = (
        _head(report),
        _ratios(report.ratios),
        format_markdown(CELLS, [_list_figures(figures) for figures in report.cells]),
        format_markdown(SERVERS, [*_list_servers(report)]),
        "".join(f"{note}\n" for note in report.notes),
    )
    return "\n".join(filter(None, parts))


def _head(report: PeersReport) -> str:
    machine, triton = report.machine, report.triton
    engine = triton.engine if triton else "no server"
    return (
        f"{report.date}: {machine.cores} cores, {machine.cpu}; Triton {machine.triton}, {engine}; "
        f"{report.workers} workers of the peer; {report.rounds_done} of "
        f"{report.conditions.rounds} rounds, {report.conditions.seconds:g} s a cell.\n"
    )


def _ratios(ratios: Sequence[Ratio]) -> str:
    pictures = list(dict.fromkeys(ratio.picture for ratio in ratios))
    values = {(ratio.title, ratio.concurrency, ratio.picture): ratio.value for ratio in ratios}
    rows: list[Sequence[TableCell]] = [
        (title, count, *(values.get((title, count, picture)) for picture in pictures))
        for title, count in dict.fromkeys((ratio.title, ratio.concurrency) for ratio in ratios)
    ]
    return format_markdown(("ratio", "calls at once", *pictures), rows) if rows else ""


def _list_figures(figures: PeerFigures) -> Sequence[TableCell]:
    cell, load = figures.cell, figures.load
    return (
        cell.picture,
        cell.concurrency,
        cell.server,
        figures.plates,
        load.calls,
        load.errors,
        load.refused,
        load.throughput,
        load.p50_ms,
        load.p99_ms,
        load.cpu_ms.server,
        figures.cores,
        load.cpu_ms.client,
        None if figures.memory_bytes is None else figures.memory_bytes / MB,
    )


def _list_servers(report: PeersReport) -> Iterator[Sequence[TableCell]]:
    for server in report.servers:
        yield server.name, server.version, server.processes, server.memory_bytes / MB
