"""The diagrams of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.evaluation.detection import Curve
from workshop.evaluation.scores import Coverage, ScoreBin
from workshop.reporting.plots import ACCENT, FAINT, Bars, Diagram, Line

FROM_0_TO_1 = (0.0, 1.02)
PERCENT = (0.0, 101.0)


def draw_precision_recall(curve: Curve, threshold: float, map50: float) -> Diagram:
    """Draw precision over recall, with the point at the service's threshold."""
    recall, precision = curve.recall.tolist(), curve.precision.tolist()
    steps = Line([0.0, *recall] if recall else [], [*precision[:1], *precision], steps=True)
    shown = int((curve.threshold >= threshold).sum()) - 1
    place = slice(shown, shown + 1) if shown >= 0 else slice(0)
    point = Line(recall[place], precision[place], f"threshold {threshold:g}", ACCENT, "o")
    title = f"Detection at IoU 0.5: mAP50 {map50:.3f}"
    return Diagram(title, "recall", "precision", (steps, point), FROM_0_TO_1, FROM_0_TO_1)


def draw_coverage(curve: Sequence[Coverage], threshold: float) -> tuple[Diagram, Diagram]:
    """Draw the error over the coverage at all text thresholds, and both over the threshold."""
    coverage = [100 * point.coverage for point in curve]
    error = [100 * point.error for point in curve]
    thresholds = [point.threshold for point in curve]
    precise = Line(PERCENT, (1, 1), "99 % precision", FAINT, "--")
    chosen = Line((threshold, threshold), PERCENT, f"threshold {threshold:g}", FAINT, "--")
    both = (Line(thresholds, coverage, "coverage, %"), Line(thresholds, error, "error, %", ACCENT))
    left = Diagram(
        "Error against coverage", "coverage: shown of found, %", "error: wrong of shown, %",
        (precise, Line(coverage, error)), PERCENT, (0.0, max([2.0, *error]) * 1.05),
    )  # fmt: skip
    title = "What the text threshold does"
    return left, Diagram(title, "text threshold", "", (chosen, *both), (0.0, 1.0), PERCENT)


def draw_reliability(
    bins: Sequence[ScoreBin], ece: float | None, of: str = ""
) -> tuple[Diagram, Diagram]:
    """Draw the accuracy of each bin of scores, and the number of readings in it.

    Args:
        bins: The bins, of equal width.
        ece: Their expected calibration error.
        of: The name of the readings, for the title.
    """
    width, lows = 1 / len(bins), [score_bin.low for score_bin in bins]
    full = [
        (score_bin.score, score_bin.accuracy) for score_bin in bins if score_bin.score is not None
    ]
    means = Line([x for x, _ in full], [y or 0.0 for _, y in full], "mean score", ACCENT, "o")
    marks = (
        Bars(lows, [score_bin.accuracy or 0.0 for score_bin in bins], width, "right"),
        Line((0, 1), (0, 1), "scores that mean what they say", FAINT, "--"),
        means,
    )
    named = f"Reliability of text scores{f', {of}' if of else ''}"
    title = named if ece is None else f"{named}: ECE {ece:.3f}"
    counts = Bars(lows, [score_bin.count for score_bin in bins], width, colour=FAINT, counted=True)
    return (
        Diagram(title, "", "part that is right", marks, (0.0, 1.0), FROM_0_TO_1),
        Diagram("", "text score", "plates", (counts,), (0.0, 1.0)),
    )
