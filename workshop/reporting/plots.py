"""Draws diagrams of lines and bars as PNG files; matplotlib is imported only when plotting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, ACCENT, FAINT = "#1f4e79", "#c0504d", "#b8c4d0"
SIZE_IN = (5.6, 4.2)
"""The width and height of each diagram, in inches."""
DPI = 120


@dataclass(frozen=True)
class Line:
    """A curve of a diagram: its points and its style.

    Attributes:
        label: The text in the legend; no entry when empty.
        style: The style: `-`, `--`, `o` (points alone) or `o-`.
        steps: True when each y holds from the previous x to its own x.
    """

    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    colour: str = INK
    style: str = "-"
    steps: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars of one width, side by side.

    Attributes:
        x: [N] left edges.
        label: The text in the legend; no entry when empty.
        has_counts: True when the height is written over each bar.
    """

    x: Sequence[float]
    height: Sequence[float]
    width: float
    label: str = ""
    colour: str = INK
    has_counts: bool = False


@dataclass(frozen=True)
class Diagram:
    """A diagram: curves and bars on two axes.

    Attributes:
        marks: The curves and bars; the first is drawn below the others.
        x_ticks: The ticks of the x axis; if there are any, the axis is logarithmic.
        x_names: The names at 0, 1, 2 ... on the x axis, in place of numbers.
        x_names_deg: The rotation of the names in degrees, anticlockwise.
    """

    title: str
    x_label: str
    y_label: str
    marks: tuple[Line | Bars, ...]
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float | None] | None = None
    x_ticks: tuple[float, ...] = ()
    x_names: tuple[str, ...] = ()
    x_names_deg: float = 0.0
    is_log: bool = False


def plot(rows: Sequence[Sequence[Diagram]], path: Path) -> None:
    """Draw rows of diagrams into a PNG file; all rows have the same length."""
    from matplotlib.figure import Figure

    columns = len(rows[0])
    size_in = (columns * SIZE_IN[0], len(rows) * SIZE_IN[1])
    figure = Figure(figsize=size_in, layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for line, row in zip(grid, rows, strict=True):
        for axes, diagram in zip(line, row, strict=True):
            _draw(axes, diagram)
    figure.savefig(path, dpi=DPI)


def _draw(axes: Axes, diagram: Diagram) -> None:
    for mark in diagram.marks:
        _draw_bars(axes, mark) if isinstance(mark, Bars) else _draw_line(axes, mark)
    _scale(axes, diagram)
    axes.set(
        title=diagram.title, xlabel=diagram.x_label, ylabel=diagram.y_label,
        xlim=diagram.x_limits, ylim=diagram.y_limits,
    )  # fmt: skip
    if any(mark.label for mark in diagram.marks):
        axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_line(axes: Axes, line: Line) -> None:
    drawstyle = "steps-pre" if line.steps else "default"
    axes.plot(
        line.x, line.y, line.style, color=line.colour, label=line.label or None,
        drawstyle=drawstyle, markersize=5,
    )  # fmt: skip


def _draw_bars(axes: Axes, bars: Bars) -> None:
    bar_container = axes.bar(
        bars.x, bars.height, bars.width, align="edge", color=bars.colour, edgecolor="white",
        label=bars.label or None,
    )  # fmt: skip
    if bars.has_counts:
        axes.bar_label(bar_container)


def _scale(axes: Axes, diagram: Diagram) -> None:
    """Set the scales of the axes, with readable ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    if diagram.x_ticks:
        axes.set_xscale("log", base=2)
        axes.set_xticks(diagram.x_ticks, [f"{tick:g}" for tick in diagram.x_ticks])
    if diagram.x_names:
        side = "right" if diagram.x_names_deg else "center"
        axes.set_xticks(
            range(len(diagram.x_names)), diagram.x_names, rotation=diagram.x_names_deg, ha=side,
            rotation_mode="anchor",
        )  # fmt: skip
    if diagram.is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
