"""Opens figures of diagrams as PNG files; matplotlib is imported only when plotting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, ACCENT, FAINT = "#1f4e79", "#c0504d", "#b8c4d0"
SIZE_IN = (5.6, 4.2)
"""The width and height of each diagram, in inches."""
DPI = 120
MARKER_PT = 5


@contextmanager
def open_figure(path: Path, rows: int, columns: int) -> Iterator[list[Axes]]:
    """Give the axes of a figure, row by row; the file is written at the end of the `with` block.

    Diagrams with named curves or bars get a legend.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"lines.markersize": MARKER_PT}):
        size_in = (columns * SIZE_IN[0], rows * SIZE_IN[1])
        figure = Figure(figsize=size_in, layout="constrained")
        diagrams: list[Axes] = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for axes in diagrams:
            axes.grid(alpha=0.3)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        yield diagrams
        for axes in diagrams:
            if axes.get_legend_handles_labels()[1]:
                axes.legend(fontsize="small")
        figure.savefig(path, dpi=DPI)


def double_x(axes: Axes, ticks: Sequence[float]) -> None:
    """Make the x axis logarithmic, with these ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def scale_y(axes: Axes) -> None:
    """Make the y axis logarithmic, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
