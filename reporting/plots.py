"""Diagrams of lines and bars, as PNG files; matplotlib is imported here alone, by who plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, ACCENT, FAINT = "#1f4e79", "#c0504d", "#b8c4d0"
SIZE_IN = (5.6, 4.2)
"""Of each diagram, width and height."""
DPI = 120


@dataclass(frozen=True)
class Line:
    """Points of a curve.

    Attributes:
        x: [N].
        y: [N].
        label: In the legend; not there when empty.
        colour: A name or `#rrggbb`.
        style: `-`, `--`, `o` (points alone) or `o-`.
        steps: Each y holds from the x before to its own.
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
        height: [N].
        width: Of each.
        label: In the legend; not there when empty.
        colour: A name or `#rrggbb`.
        counted: Write its height over each bar.
    """

    x: Sequence[float]
    height: Sequence[float]
    width: float
    label: str = ""
    colour: str = INK
    counted: bool = False


@dataclass(frozen=True)
class Diagram:
    """What is drawn between two axes.

    Attributes:
        title: Over it.
        x_label: Under the x axis.
        y_label: Beside the y axis.
        marks: The first one lies lowest.
        x_limits: Of the x axis; None: what fits.
        y_limits: Of the y axis; None: what fits.
        x_ticks: Places on the x axis, which they make logarithmic.
        x_names: What stands at 0, 1, 2 ... of the x axis instead of numbers.
        x_names_deg: How far they are turned, anticlockwise.
        is_log: The y axis is logarithmic.
        shaded: From where to where on the x axis the ground is grey.
        is_legend_beside: The legend stands to the right of the axes, not between the curves.
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
    shaded: tuple[float, float] | None = None
    is_legend_beside: bool = False


def plot(rows: Sequence[Sequence[Diagram]], path: Path) -> None:
    """Draw diagrams, as many in each row, into a PNG file."""
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
    if diagram.shaded:
        axes.axvspan(*diagram.shaded, color=FAINT, alpha=0.3, linewidth=0, zorder=0)
    if any(mark.label for mark in diagram.marks):
        _add_legend(axes, is_beside=diagram.is_legend_beside)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _add_legend(axes: Axes, *, is_beside: bool) -> None:
    if is_beside:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    else:
        axes.legend(fontsize="small")


def _draw_line(axes: Axes, line: Line) -> None:
    drawstyle = "steps-pre" if line.steps else "default"
    axes.plot(
        line.x, line.y, line.style, color=line.colour, label=line.label or None,
        drawstyle=drawstyle, markersize=5,
    )  # fmt: skip


def _draw_bars(axes: Axes, bars: Bars) -> None:
    drawn = axes.bar(
        bars.x, bars.height, bars.width, align="edge", color=bars.colour, edgecolor="white",
        label=bars.label or None,
    )  # fmt: skip
    if bars.counted:
        axes.bar_label(drawn)


def _scale(axes: Axes, diagram: Diagram) -> None:
    """Make axes logarithmic, with ticks that people read."""
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
