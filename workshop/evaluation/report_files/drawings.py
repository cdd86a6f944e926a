"""The tiles of contact sheets, errors cut out of their pictures, and the diagrams of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.evaluation.datasets import Box
from workshop.evaluation.detection import Curve
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.reading import Coverage, Pair, ScoreBin
from workshop.reporting.plots import ACCENT, FAINT
from workshop.reporting.plots import INK as LINE
from workshop.reporting.sheets import FONT, INK, PAPER, add_caption, cut_out, draw_outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[int, int, int]

LABEL, FOUND = (0, 220, 255), (60, 200, 40)  # BGR: labels are yellow, detections green
WRONG = (40, 40, 220)

CONTEXT_WH, DETAIL_WH, READING_WH = (400, 230), (400, 110), (400, 62)
CONTEXT_SPAN, DETAIL_SPAN = 3.0, 1.15
"""The width of the context and of the detail, as a multiple of the box that they show."""


@dataclass(frozen=True)
class Outline:
    """A polygon in picture pixels and its colour."""

    corners: tuple[tuple[float, float], ...]
    colour: Colour

    @staticmethod
    def of_box(box: Box, colour: Colour) -> Outline:
        """Return the outline of an xyxy box."""
        x0, y0, x1, y1 = box
        return Outline(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), colour)


@dataclass(frozen=True)
class Tile:
    """A tile: one error in its picture.

    Attributes:
        focus: The box in the centre of the context, xyxy pixels.
        detail: The box that is shown enlarged, xyxy pixels.
        outlines: The outlines that are drawn into the context.
        characters: Pairs of wanted and read characters; empty when there was nothing to read.
    """

    path: Path
    focus: Box
    detail: Box
    outlines: tuple[Outline, ...]
    caption: str
    characters: tuple[Pair, ...] = ()


def draw(tile: Tile) -> Bgr:
    """Draw a tile: its caption, the context, the enlarged plate and the characters."""
    picture = open_picture(tile.path).numpy()
    context, affine = cut_out(picture, tile.focus, CONTEXT_WH, CONTEXT_SPAN)
    for outline in tile.outlines:
        draw_outline(context, affine, outline.corners, outline.colour)
    detail, _ = cut_out(picture, tile.detail, DETAIL_WH, DETAIL_SPAN)
    parts = [context, detail]
    if tile.characters:
        parts.append(_write_characters(tile.characters))
    return add_caption(np.vstack(parts), tile.caption)


def _write_characters(characters: tuple[Pair, ...]) -> Bgr:
    """Write the wanted text above the read text, aligned by character, differences in red."""
    lines = np.full((READING_WH[1], READING_WH[0], 3), PAPER, np.uint8)
    for text, y in (("wanted", 24), ("read", 52)):
        cv2.putText(lines, text, (8, y), FONT, 0.45, INK, 1, cv2.LINE_AA)
    for index, (label, reading) in enumerate(characters):
        x = 90 + 28 * index
        colour = INK if label == reading else WRONG
        cv2.putText(lines, label or "-", (x, 25), FONT, 0.8, INK, 2, cv2.LINE_AA)
        cv2.putText(lines, reading or "-", (x, 54), FONT, 0.8, colour, 2, cv2.LINE_AA)
    return lines


FROM_0_TO_1 = (0.0, 1.02)
PERCENT = (0.0, 101.0)


def draw_precision_recall(axes: Axes, curve: Curve, threshold: float, map50: float) -> None:
    """Draw precision over recall, with the point at the service's threshold."""
    recall, precision = curve.recall.tolist(), curve.precision.tolist()
    start = [0.0] if recall else []
    axes.plot([*start, *recall], [*precision[:1], *precision], color=LINE, drawstyle="steps-pre")
    index = int((curve.threshold >= threshold).sum()) - 1
    place = slice(index, index + 1) if index >= 0 else slice(0)
    label = f"threshold {threshold:g}"
    axes.plot(recall[place], precision[place], "o", color=ACCENT, label=label)
    axes.set(title=f"Detection at IoU 0.5: mAP50 {map50:.3f}", xlim=FROM_0_TO_1, ylim=FROM_0_TO_1)
    axes.set(xlabel="recall", ylabel="precision")


def draw_coverage(
    over_coverage: Axes, over_threshold: Axes, curve: Sequence[Coverage], threshold: float
) -> None:
    """Draw the error over the coverage at all text thresholds, and both over the threshold."""
    coverage = [100 * point.coverage for point in curve]
    error = [100 * point.error for point in curve]
    thresholds = [point.threshold for point in curve]
    over_coverage.plot(PERCENT, (1, 1), "--", color=FAINT, label="99 % precision")
    over_coverage.plot(coverage, error, color=LINE)
    over_coverage.set(title="Error against coverage", ylim=(0.0, max([2.0, *error]) * 1.05))
    over_coverage.set(xlabel="coverage: shown of found, %", ylabel="error: wrong of shown, %")
    over_coverage.set_xlim(PERCENT)
    marker = (threshold, threshold)
    over_threshold.plot(marker, PERCENT, "--", color=FAINT, label=f"threshold {threshold:g}")
    over_threshold.plot(thresholds, coverage, color=LINE, label="coverage, %")
    over_threshold.plot(thresholds, error, color=ACCENT, label="error, %")
    over_threshold.set(title="What the text threshold does", xlabel="text threshold")
    over_threshold.set(xlim=(0.0, 1.0), ylim=PERCENT)


def draw_reliability(
    accuracy: Axes, counts: Axes, bins: Sequence[ScoreBin], ece: float | None, of: str = ""
) -> None:
    """Draw the accuracy of each bin of scores, and the number of readings in it."""
    bars: dict[str, Any] = {"width": 1 / len(bins), "align": "edge", "edgecolor": "white"}
    lows = [score_bin.low for score_bin in bins]
    full = [score_bin for score_bin in bins if score_bin.score is not None]
    rights = [score_bin.accuracy or 0.0 for score_bin in bins]
    accuracy.bar(lows, rights, color=LINE, label="right", **bars)
    accuracy.plot((0, 1), (0, 1), "--", color=FAINT, label="scores that mean what they say")
    accuracy.plot(
        [score_bin.score or 0.0 for score_bin in full],
        [score_bin.accuracy or 0.0 for score_bin in full],
        "o",
        color=ACCENT,
        label="mean score",
    )
    name = f"Reliability of text scores{f', {of}' if of else ''}"
    title = name if ece is None else f"{name}: ECE {ece:.3f}"
    accuracy.set(title=title, ylabel="part that is right", xlim=(0.0, 1.0), ylim=FROM_0_TO_1)
    counts.bar_label(counts.bar(lows, [score_bin.count for score_bin in bins], color=FAINT, **bars))
    counts.set(xlabel="text score", ylabel="plates", xlim=(0.0, 1.0))
