"""Draws throughput and latency by number of calls at once, as one PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workshop.benchmarks.pooling import CellFigures
from workshop.reporting.plots import Diagram, Line, plot

COLOURS = (
    "#5b9bd5", "#1f4e79", "#548235", "#bf9000", "#c0504d", "#7030a0", "#404040", "#00b0a0",
)  # fmt: skip
"""The colours of the ways, in the order of the grid."""


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
