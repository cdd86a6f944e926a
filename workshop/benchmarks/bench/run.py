"""Runs one benchmark, from the pictures to the report and its diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workshop.benchmarks.bench.plan import Plan
from workshop.benchmarks.bench.pooling import CellFigures
from workshop.benchmarks.bench.report import BenchReport, write_up
from workshop.benchmarks.bench.session import measure
from workshop.benchmarks.bench.text import format_report
from workshop.benchmarks.pictures import prepare_pictures
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.plots import Diagram, Line, plot

COLOURS = (
    "#5b9bd5", "#1f4e79", "#548235", "#bf9000", "#c0504d", "#7030a0", "#404040", "#00b0a0",
)  # fmt: skip
"""The colours of the ways, in the order of the grid."""


def run(plan: Plan) -> tuple[BenchReport, str]:
    """Measure and write the report; return the report, and its text."""
    pictures = prepare_pictures(plan.files, plan.plates)
    prepare_folder(plan.out)
    report = write_up(plan, pictures, measure(plan, pictures))
    text = format_report(report)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "report.json")
        (plan.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        if report.cells:
            draw(report.cells, plan.out / "bench.png")
    return report, text


def draw(cells: Sequence[CellFigures], path: Path) -> None:
    """Draw a row for each picture: throughput on the left, p50 and p99 on the right."""
    pictures = list(dict.fromkeys(cell.key.picture for cell in cells))
    ways = list(dict.fromkeys(cell.key.transport for cell in cells))
    colours = {way: COLOURS[index % len(COLOURS)] for index, way in enumerate(ways)}
    plot([_row([c for c in cells if c.key.picture == name], colours) for name in pictures], path)


def _row(cells: Sequence[CellFigures], colours: dict[str, str]) -> tuple[Diagram, Diagram]:
    picture = cells[0].key.picture
    counts = tuple(sorted({float(cell.key.concurrency) for cell in cells}))
    throughput: list[Line] = []
    latency: list[Line] = []
    for way, colour in colours.items():
        mine = sorted(
            (cell for cell in cells if cell.key.transport == way and cell.load.calls),
            key=lambda cell: cell.key.concurrency,
        )
        if not mine:  # zeros would spoil a logarithmic axis
            continue
        x = [cell.key.concurrency for cell in mine]
        throughput.append(Line(x, [cell.load.throughput for cell in mine], way, colour, "o-"))
        latency.append(Line(x, [cell.load.p50_ms or 0.0 for cell in mine], way, colour, "o-"))
        latency.append(Line(x, [cell.load.p99_ms or 0.0 for cell in mine], "", colour, "--"))
    left = Diagram(
        f"{picture}: throughput", "calls at once", "pictures/s", tuple(throughput),
        y_limits=(0, None), x_ticks=counts,
    )  # fmt: skip
    right = Diagram(
        f"{picture}: p50 solid, p99 dashed", "calls at once", "ms", tuple(latency),
        x_ticks=counts, is_log=True,
    )  # fmt: skip
    return left, right
