"""Draws throughput by number of calls at once, and the parts of the CPU time, as PNG files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from workshop.benchmarks.compositions.figures import CellFigures
from workshop.benchmarks.compositions.spending import SERVER
from workshop.benchmarks.compositions.workloads import Workload
from workshop.benchmarks.diagrams import COLOURS
from workshop.reporting.plots import Bars, Diagram, Line, plot

ROOM = 1.35
"""The height of the y axis, in heights of the highest bar; it leaves room for the legend."""
INKS = 48


def draw(cells: Sequence[CellFigures], workload: Workload, path: Path) -> None:
    """Draw a row for each picture: throughput for each number of instances, and CPU time."""
    pictures = dict.fromkeys(one.cell.picture for one in cells)
    rows = [[one for one in cells if one.cell.picture == picture] for picture in pictures]
    plot([(*_throughputs(row, workload), _cpu(row, workload)) for row in rows], path)
    with Image.open(path) as drawn:
        small = drawn.convert("RGB").quantize(INKS)
    small.save(path, optimize=True)


def _throughputs(cells: Sequence[CellFigures], workload: Workload) -> Iterator[Diagram]:
    counts = tuple(sorted({float(one.cell.concurrency) for one in cells}))
    most = max(one.load.throughput for one in cells)
    for number in sorted({one.cell.instances for one in cells}):
        mine = [one for one in cells if one.cell.instances == number]
        yield Diagram(
            f"{workload.name}, {cells[0].cell.picture}, instances: {number}", "calls at once",
            "pictures/s", tuple(_lines(mine, workload)), y_limits=(0, 1.1 * most), x_ticks=counts,
        )  # fmt: skip


def _lines(cells: Sequence[CellFigures], workload: Workload) -> Iterator[Line]:
    for form, colour in zip(workload.forms, COLOURS[1:], strict=False):
        mine = [one for one in cells if one.cell.form == form.name]
        x, y = [one.cell.concurrency for one in mine], [one.load.throughput for one in mine]
        yield Line(x, y, form.name, colour, "o-")


def _cpu(cells: Sequence[CellFigures], workload: Workload) -> Diagram:
    """Stack each form's CPU time: Python models below, then networks, the server on top."""
    most = max(one.cell.concurrency for one in cells)
    instances = sorted({one.cell.instances for one in cells})
    middle = instances[len(instances) // 2]
    labels = (SERVER, "networks", "Python models")
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
            bars.append(Bars([place - 0.35], [height], 0.7, label if not place else "", colour))
    return Diagram(
        f"CPU of a call, x{most}, instances: {middle}", "", "ms", tuple(bars),
        y_limits=(0, ROOM * max(bar.height[0] for bar in bars)),
        x_names=tuple(form.name for form in workload.forms),
    )  # fmt: skip
