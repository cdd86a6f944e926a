"""Draws the dashboard's panels where Grafana puts them, with what Prometheus answered."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

from benchmarks.dashboard_panels import Floats, Line, Panel

CELL_IN = (0.6, 0.31)
"""Of Grafana's grid: width, height."""
DPI = 100
COLOURS = 128
"""Of the file: flat colours and smooth edges need no more."""
SHADES = {"green": "#37872d", "orange": "#d97b00", "red": "#c4162a"}
INK, FAINT, GROUND = "#24292e", "#8a9199", "#f4f5f5"
TITLE_IN, LEGEND_IN = 0.27, 0.2
"""Heights that a panel's title and a line of its legend take."""

Answers = Mapping[str, Sequence[Line]]
"""What each panel shows, by its title."""


def draw(panels: Sequence[Panel], answers: Answers, path: Path) -> None:
    """Write the dashboard as a PNG file."""
    size = (24 * CELL_IN[0], max(panel.y + panel.h for panel in panels) * CELL_IN[1])
    with mpl.rc_context({"font.size": 8, "text.color": INK, "axes.edgecolor": FAINT}):
        figure = Figure(figsize=size, dpi=DPI, facecolor=GROUND)
        for panel in panels:
            _DRAW[panel.kind](_Card(figure, panel), answers.get(panel.title, ()))
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)


class _Card:
    """A panel's place on the figure; positions inside are inches from its lower left corner."""

    def __init__(self, figure: Figure, panel: Panel) -> None:
        self.figure, self.panel = figure, panel
        self.width, self.height = panel.w * CELL_IN[0], panel.h * CELL_IN[1]
        whole_w, self.whole_h = figure.get_size_inches()
        self._scale = (1 / whole_w, 1 / self.whole_h)
        self._corner = (
            panel.x * CELL_IN[0],
            self.whole_h - (panel.y + panel.h) * CELL_IN[1],
        )

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return a point in parts of the figure."""
        return (
            (self._corner[0] + x) * self._scale[0],
            (self._corner[1] + y) * self._scale[1],
        )

    def text(self, x: float, y: float, text: str, **style: object) -> None:
        self.figure.text(*self.at(x, y), text, **style)  # type: ignore[arg-type]

    def frame(self) -> None:
        """Draw the white card and its title."""
        gap = 0.04
        size = (
            (self.width - 2 * gap) * self._scale[0],
            (self.height - 2 * gap) * self._scale[1],
        )
        self.figure.add_artist(
            Rectangle(
                self.at(gap, gap), *size, facecolor="white", edgecolor="#d8dadd", lw=0.8, zorder=-1
            )
        )
        self.text(0.13, self.height - TITLE_IN + 0.07, self.panel.title, weight="bold", size=8.5)

    def axes(self, left: float, below: float, right: float = 0.15, above: float = 0.05) -> Axes:
        size_w = self.width - left - right
        size_h = self.height - TITLE_IN - below - above
        box = (*self.at(left, below), size_w * self._scale[0], size_h * self._scale[1])
        return self.figure.add_axes(box)


def _row(card: _Card, _: Sequence[Line]) -> None:
    mark = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}"
    if not card.panel.is_closed:
        mark = "\N{BLACK DOWN-POINTING SMALL TRIANGLE}"
    card.text(0.1, 0.09, f"{mark} {card.panel.title}", size=10)


def _stat(card: _Card, lines: Sequence[Line]) -> None:
    card.frame()
    values = lines[0].values if lines else np.zeros(1)
    value = float(values[~np.isnan(values)][-1])
    colour = _shade(value, card.panel)
    middle = {"ha": "center", "va": "center", "color": colour, "size": 21}
    card.text(card.width / 2, 0.62, _format(card.panel.unit)(value), **middle)
    if not lines:
        return
    axes = card.axes(left=0.06, below=0.06, right=0.06, above=0.55)
    axes.fill_between(lines[0].minutes, values, color=colour, alpha=0.18, lw=0)
    axes.set(ylim=(0, max(float(np.nanmax(values)), 1e-9) * 1.1))
    axes.margins(x=0)
    axes.set_axis_off()


def _shade(value: float, panel: Panel) -> str:
    reached = [colour for least, colour in panel.limits if least is None or value >= least]
    return SHADES[reached[-1]]


def _timeseries(card: _Card, lines: Sequence[Line]) -> None:
    card.frame()
    panel = card.panel
    rows = -(-max(len(lines), 1) // 4)
    axes = card.axes(left=0.62, below=0.34 + LEGEND_IN * rows)
    if panel.is_stacked and lines:
        values = [np.nan_to_num(line.values) for line in lines]
        names = [line.name for line in lines]
        axes.stackplot(lines[0].minutes, *values, labels=names, alpha=0.75, lw=0)
    else:
        for line in lines:
            axes.plot(line.minutes, line.values, label=line.name, lw=1.2)
    for limit, colour in panel.limits[1:]:
        if limit is not None and limit <= 1.6 * axes.get_ylim()[1]:
            axes.axhline(limit, color=SHADES.get(colour, SHADES["red"]), lw=0.9, ls="--")
    _dress(axes, panel)
    if lines:
        _clock(axes, lines[0].minutes)
        axes.legend(
            loc="lower left", bbox_to_anchor=card.at(0.1, 0.05), ncols=4, frameon=False,
            bbox_transform=card.figure.transFigure, fontsize=7.5, handlelength=1,
            columnspacing=1.2, borderpad=0, labelspacing=0.3,
        )  # fmt: skip


def _dress(axes: Axes, panel: Panel) -> None:
    highest = axes.get_ylim()[1]
    axes.set_ylim(panel.least, panel.most if panel.most is not None else highest)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _format(panel.unit)(value)))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", color="#e4e7eb", lw=0.6)
    axes.set_axisbelow(True)


def _clock(axes: Axes, minutes: Floats) -> None:
    axes.set_xlim(minutes[0], minutes[-1])
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter("{x:.0f} min")
    axes.tick_params(labelsize=7.5, colors=INK, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _heatmap(card: _Card, lines: Sequence[Line]) -> None:
    """Draw cumulative buckets as what lies in each, one row for each bucket."""
    card.frame()
    axes = card.axes(left=0.62, below=0.36)
    ordered = sorted(lines, key=lambda line: float(line.labels["le"]))
    if not ordered:
        return
    minutes = ordered[0].minutes
    counts = np.diff([line.values for line in ordered], axis=0, prepend=0)
    shown = np.where(counts > 0.01, counts, np.nan)
    edges = np.arange(len(ordered) + 1)
    across = np.append(minutes, 2 * minutes[-1] - minutes[-2])
    axes.pcolormesh(across, edges, shown, cmap=card.panel.scheme, norm="log", rasterized=True)
    label = _format(card.panel.unit)
    bounds = [float(line.labels["le"]) for line in ordered]
    names = [f"\N{LESS-THAN OR EQUAL TO} {label(le)}" if le < np.inf else "more" for le in bounds]
    axes.set_yticks(edges[:-1] + 0.5, names)
    _clock(axes, minutes)


def _seconds(value: float) -> str:
    if value == 0 or abs(value) >= 60:
        return f"{value / 60:.3g} min" if value else "0"
    return f"{value:.3g} s" if abs(value) >= 1 else f"{value * 1e3:.3g} ms"


def _format(unit: str) -> Callable[[float], str]:
    known: dict[str, Callable[[float], str]] = {
        "s": _seconds,
        "percentunit": lambda value: f"{100 * value:.3g} %",
        "bytes": lambda value: f"{value / 2**30:.3g} GiB",
        "reqps": lambda value: f"{value:.3g} req/s",
        "cps": lambda value: f"{value:.3g} c/s",
    }
    return known.get(unit, lambda value: f"{value:.3g}")


_DRAW: dict[str, Callable[[_Card, Sequence[Line]], None]] = {
    "row": _row,
    "stat": _stat,
    "timeseries": _timeseries,
    "heatmap": _heatmap,
}
