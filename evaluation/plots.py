"""Stays until benchmarks takes its plots from reporting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

DPI = 120


def save(figure: Figure, all_axes: Sequence[Axes], path: Path) -> None:
    """Write a figure, its diagrams with a faint grid and without a box."""
    for axes in all_axes:
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=DPI)
