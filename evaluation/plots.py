"""Plots of an evaluation, as PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.calibration import Coverage, ScoreBin
from evaluation.detection import Curve

SIZE_IN = (6.4, 4.8)
DPI = 120
INK, ACCENT, FAINT = "#1f4e79", "#c0504d", "#b8c4d0"


def plot_precision_recall(curve: Curve, threshold: float, map50: float, path: Path) -> None:
    """Draw precision over recall, with the point of the service's threshold."""
    figure = Figure(figsize=SIZE_IN, layout="constrained")
    axes = figure.subplots()
    recall = [0.0, *curve.recall] if len(curve.recall) else []
    axes.step(recall, [*curve.precision[:1], *curve.precision], where="pre", color=INK)
    shown = int((curve.threshold >= threshold).sum()) - 1
    if shown >= 0:
        point = f"threshold {threshold:g}"
        axes.plot(curve.recall[shown], curve.precision[shown], "o", color=ACCENT, label=point)
        axes.legend(loc="lower left")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
    axes.set_title(f"Detection at IoU 0.5: mAP50 {map50:.3f}")
    save(figure, [axes], path)


def plot_coverage(curve: Sequence[Coverage], threshold: float, path: Path) -> None:
    """Draw the error over the coverage as the text threshold falls, and both over the threshold."""
    figure = Figure(figsize=(2 * SIZE_IN[0], SIZE_IN[1]), layout="constrained")
    left, right = figure.subplots(1, 2)
    coverage = [100 * point.coverage for point in curve]
    error = [100 * point.error for point in curve]
    thresholds = [point.threshold for point in curve]
    left.plot(coverage, error, color=INK)
    left.axhline(1, color=FAINT, linestyle="--", label="99 % precision")
    left.set(xlabel="coverage: shown of found, %", ylabel="error: wrong of shown, %")
    left.set_title("Error against coverage")
    right.plot(thresholds, coverage, color=INK, label="coverage, %")
    right.plot(thresholds, error, color=ACCENT, label="error, %")
    right.axvline(threshold, color=FAINT, linestyle="--", label=f"threshold {threshold:g}")
    right.set(xlabel="text threshold", xlim=(0, 1), ylim=(0, 101))
    right.set_title("What the text threshold does")
    left.set(xlim=(0, 101), ylim=(0, max([2.0, *error]) * 1.05))
    left.legend(loc="upper left")
    right.legend(loc="center left")
    save(figure, [left, right], path)


def plot_reliability(diagram: Sequence[ScoreBin], ece: float | None, path: Path) -> None:
    """Draw the accuracy of each bin of scores, and how many readings it holds."""
    figure = Figure(figsize=(SIZE_IN[0], SIZE_IN[1] * 1.25), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    width = 1 / len(diagram)
    lows = [one.low for one in diagram]
    top.plot([0, 1], [0, 1], "--", color=FAINT, label="scores that mean what they say")
    accuracy = [one.accuracy or 0.0 for one in diagram]
    top.bar(lows, accuracy, width, align="edge", color=INK, edgecolor="white", label="right")
    full = [one for one in diagram if one.count]
    scores = [one.score or 0.0 for one in full]
    top.plot(scores, [one.accuracy or 0.0 for one in full], "o", color=ACCENT, label="mean score")
    top.set(ylim=(0, 1.02), ylabel="part that is right")
    top.set_title("Reliability of text scores" + (f": ECE {ece:.3f}" if ece is not None else ""))
    figure.legend(loc="outside lower center", ncols=3)
    bars = bottom.bar(lows, [one.count for one in diagram], width, align="edge", color=FAINT)
    bottom.bar_label(bars)
    bottom.set(xlim=(0, 1), xlabel="text score", ylabel="plates")
    bottom.margins(y=0.25)
    save(figure, [top, bottom], path)


def save(figure: Figure, all_axes: Sequence[Axes], path: Path) -> None:
    """Write a figure, its diagrams with a faint grid and without a box."""
    for axes in all_axes:
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=DPI)
