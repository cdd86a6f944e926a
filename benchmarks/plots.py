"""Throughput and latency over the calls at once, as one PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from benchmarks.figures import Figures
from benchmarks.plan import IN_PROCESS
from evaluation.plots import save

SIZE_IN = (4.8, 3.6)
"""Of each diagram."""
COLOURS = {
    "http-encoded": "#1f4e79",
    "http-raw": "#5b9bd5",
    "grpc": "#548235",
    "grpc-shm": "#bf9000",
    IN_PROCESS: "#c0504d",
}


def plot(cells: Sequence[Figures], path: Path) -> None:
    """Draw a row for each picture: throughput on the left, p50 and p99 on the right."""
    pictures = list(dict.fromkeys(cell["picture"] for cell in cells))
    size_in = (2 * SIZE_IN[0], SIZE_IN[1] * len(pictures))
    figure = Figure(figsize=size_in, layout="constrained")
    rows = figure.subplots(len(pictures), 2, squeeze=False)
    for picture, (left, right) in zip(pictures, rows, strict=True):
        mine = [cell for cell in cells if cell["picture"] == picture and cell["calls"]]
        for transport in dict.fromkeys(cell["transport"] for cell in mine):
            _lines(left, right, [cell for cell in mine if cell["transport"] == transport])
        left.set(title=f"{picture}: throughput", ylabel="pictures/s", ylim=(0, None))
        right.set(title=f"{picture}: p50 solid, p99 dashed", ylabel="ms", yscale="log")
        for axes in (left, right):
            _dress(axes, sorted({cell["concurrency"] for cell in mine}))
    save(figure, [axes for row in rows for axes in row], path)


def _lines(left: Axes, right: Axes, cells: Sequence[Figures]) -> None:
    ordered = sorted(cells, key=lambda cell: cell["concurrency"])
    counts = [cell["concurrency"] for cell in ordered]
    transport = ordered[0]["transport"]
    colour = COLOURS[transport]
    style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4}
    left.plot(counts, [cell["throughput"] for cell in ordered], label=transport, **style)
    right.plot(counts, [cell["p50_ms"] for cell in ordered], label=transport, **style)
    right.plot(counts, [cell["p99_ms"] for cell in ordered], linestyle="--", color=colour)


def _dress(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_xlabel("calls at once")
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
    if axes.lines:
        axes.legend(fontsize="small")
