"""Throughput over the calls at once, and where the CPU time goes, as PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.compositions.figures import CellFigures
from benchmarks.compositions.spending import SERVER
from benchmarks.compositions.workloads import Workload
from benchmarks.diagrams import COLOURS
from reporting.plots import Bars, Diagram, Line, plot

STYLES = ("--", "-", "o-")


def draw(cells: Sequence[CellFigures], workload: Workload, path: Path) -> None:
    """Draw a row for each picture: throughput left, CPU time of a call right."""
    pictures = dict.fromkeys(one.cell.picture for one in cells)
    rows = [[one for one in cells if one.cell.picture == picture] for picture in pictures]
    plot([(_throughput(row, workload), _cpu(row, workload)) for row in rows], path)


def _throughput(cells: Sequence[CellFigures], workload: Workload) -> Diagram:
    counts = tuple(sorted({float(one.cell.concurrency) for one in cells}))
    instances = sorted({one.cell.instances for one in cells})
    lines = []
    for form, colour in zip(workload.forms, COLOURS[1:], strict=False):
        for number, style in zip(instances, STYLES, strict=False):
            mine = [
                one for one in cells if (one.cell.form, one.cell.instances) == (form.name, number)
            ]
            x = [one.cell.concurrency for one in mine]
            y = [one.load.throughput for one in mine]
            lines.append(Line(x, y, f"{form.name}, {number}", colour, style))
    return Diagram(
        f"{workload.name}, {cells[0].cell.picture}: form, instances", "calls at once",
        "pictures/s", tuple(lines), y_limits=(0, None), x_ticks=counts,
    )  # fmt: skip


def _cpu(cells: Sequence[CellFigures], workload: Workload) -> Diagram:
    """Stack each form's CPU time: server on networks on Python models, drawn from the top down."""
    most = max(one.cell.concurrency for one in cells)
    instances = sorted({one.cell.instances for one in cells})
    middle = instances[len(instances) // 2]
    labels = (f"{SERVER}", "networks", "Python models")
    bars = []
    for place, form in enumerate(workload.forms):
        one = next(
            one for one in cells
            if (one.cell.form, one.cell.concurrency, one.cell.instances)
            == (form.name, most, middle)
        )  # fmt: skip
        groups = (form.python, form.networks, (SERVER,))
        parts = [1e3 * sum(one.spent[name].cpu_s for name in names) for names in groups]
        heights = (sum(parts), sum(parts[:2]), parts[0])
        for label, height, colour in zip(labels, heights, COLOURS[3:], strict=False):
            bars.append(Bars([place], [height], 0.7, label if not place else "", colour))
    names = ", ".join(form.name for form in workload.forms)
    return Diagram(
        f"CPU of a call, x{most}, {middle} instances", names, "ms", tuple(bars), y_limits=(0, None)
    )
