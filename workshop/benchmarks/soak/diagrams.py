"""Draws the samples of a run as small diagrams in one PNG file. The warm-up is shaded grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workshop.benchmarks.soak.report import list_roles, read_role
from workshop.benchmarks.soak.samples import Sample
from workshop.benchmarks.soak.trends import find_warm_up
from workshop.reporting.plots import ACCENT, INK, Diagram, Line, plot

COLOURS = (
    "#1f4e79", "#c0504d", "#548235", "#bf9000", "#7030a0", "#00a0a0", "#5b9bd5", "#404040",
    "#e07b39", "#a0a0a0",
)  # fmt: skip
"""The colours of the roles; the role with the most memory comes first."""
MAX_POINTS = 240
"""The most points in a curve. Each point is the median of an equal part of the samples."""
FEW_POINTS = 60
"""The most points in a noisy curve: rates and latencies."""
FLAT_MB = 4.0
"""The smallest range, up and down, of the diagram of changes: noise must not fill it."""
USUAL_PERCENT = 95
"""The percentage of the changes that must fit in the diagram, so that one dip cannot flatten it."""


def plot_samples(samples: Sequence[Sample], path: Path, *, is_by_time: bool) -> None:
    """Draw memory, descriptors, shared memory, calls and latency, by minutes or by calls."""
    calls = [sample.calls.ended for sample in samples]
    x = [sample.seconds / 60 for sample in samples] if is_by_time else calls
    warm = float(np.interp(find_warm_up(calls), calls, x))
    drawing = _Drawing(samples, x, warm, "minutes" if is_by_time else "calls")
    top = (drawing.memory(), drawing.changes(), drawing.descriptors())
    plot((top, (drawing.shm(), drawing.rates(), drawing.latency())), path)


class _Drawing:
    """Makes the diagrams of one run, with common samples, axis and colours."""

    def __init__(
        self, samples: Sequence[Sample], x: Sequence[float], warm: float, unit: str
    ) -> None:
        self._samples, self._x, self._warm, self._unit = samples, x, warm, unit
        self._colours = dict(zip(list_roles(samples), COLOURS * 9, strict=False))

    def memory(self) -> Diagram:
        return self._diagram("memory of each role", "MiB", self._of_roles("memory_mb"))

    def descriptors(self) -> Diagram:
        return self._diagram("open descriptors", "", self._of_roles("descriptors", is_named=True))

    def _of_roles(self, name: str, *, is_named: bool = False) -> list[Line]:
        return [
            self._line(read_role(self._samples, role, name), role if is_named else "", colour)
            for role, colour in self._colours.items()
        ]

    def changes(self) -> Diagram:
        lines, most = [], FLAT_MB
        for role, colour in self._colours.items():
            held = np.array(read_role(self._samples, role, "memory_mb"))
            is_judged = np.asarray(self._x) >= self._warm
            change = held - np.median(held[is_judged])
            usual = float(np.percentile(np.abs(change[is_judged]), USUAL_PERCENT))
            most = max(most, 1.2 * usual)
            lines.append(self._line(change.tolist(), colour=colour))
        title = "memory, from its median after the warm-up"
        return self._diagram(title, "MiB", lines, (-most, most))

    def shm(self) -> Diagram:
        line = self._line([sample.shm_mb for sample in self._samples])
        return self._diagram("/dev/shm", "MiB", [line])

    def rates(self) -> Diagram:
        right = self._rate(lambda sample: sample.calls.ended - sample.calls.failed)
        wrong = self._rate(lambda sample: sample.calls.failed)
        lines = [
            self._line(right, "right", most=FEW_POINTS),
            Line(self._x, wrong, "wrong", ACCENT),  # not smoothed: each one must show
        ]
        return self._diagram("calls a second", "", lines)

    def _rate(self, count: Callable[[Sample], int]) -> list[float]:
        """Return the calls a second before each sample; 0 before the first."""
        pairs = zip(self._samples, self._samples[1:], strict=False)
        return [0.0, *((count(b) - count(a)) / (b.seconds - a.seconds) for a, b in pairs)]

    def latency(self) -> Diagram:
        p50 = [sample.calls.p50_ms or np.nan for sample in self._samples]
        p95 = [sample.calls.p95_ms or np.nan for sample in self._samples]
        lines = [
            self._line(p50, "p50", most=FEW_POINTS),
            self._line(p95, "p95", ACCENT, FEW_POINTS),
        ]
        return self._diagram("latency of good calls", "ms", lines)

    def _line(
        self, y: Sequence[float], label: str = "", colour: str = INK, most: int = MAX_POINTS
    ) -> Line:
        x, y = thin(self._x, y, most)
        return Line(x, y, label, colour)

    def _diagram(
        self,
        title: str,
        y_label: str,
        lines: Sequence[Line],
        y_limits: tuple[float, float | None] = (0, None),
    ) -> Diagram:
        return Diagram(
            title, self._unit, y_label, tuple(lines), x_limits=(0, self._x[-1]),
            y_limits=y_limits, shaded=(0, self._warm), is_legend_beside=True,
        )  # fmt: skip


def thin(
    x: Sequence[float], y: Sequence[float], most: int = MAX_POINTS
) -> tuple[list[float], list[float]]:
    """Return a curve of at most `most` points: medians of equal parts, without the gaps."""
    part = np.arange(len(x)) * min(most, len(x)) // len(x)
    curve = pd.DataFrame({"x": x, "y": y}).groupby(part).median().dropna()
    return curve["x"].tolist(), curve["y"].tolist()
