"""Writes the results of reading: a row per plate, curves of text scores, sheets of misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workshop.evaluation.datasets import BAD, STANDARD
from workshop.evaluation.measurement import keep_found, of_type, scores_of
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, Outcome
from workshop.evaluation.reading import Confusion, Coverage, ScoreBin, align, coverage_curve
from workshop.evaluation.report_files.drawings import (
    FOUND,
    LABEL,
    Outline,
    Tile,
    draw,
    draw_coverage,
    draw_reliability,
)
from workshop.evaluation.results import ReadingResult
from workshop.reporting.files import write_csv
from workshop.reporting.plots import open_figure
from workshop.reporting.sheets import write_sheets


@dataclass(frozen=True)
class PlateRow:
    """The row of a labelled plate in `plates.csv`; fields after the verdict are empty if missed."""

    image: str
    type: str
    wanted: str
    verdict: str
    shown: str | None = None
    best: str | None = None
    text_score: float | None = None
    best_path: str | None = None
    free_beam: str | None = None
    detection_score: float | None = None
    x0: float | None = None
    y0: float | None = None
    x1: float | None = None
    y1: float | None = None
    width_px: float | None = None
    tilt_deg: float | None = None


def write_reading(
    result: ReadingResult, outcomes: Sequence[Outcome], threshold: float, folder: Path
) -> None:
    """Write `plates.csv`, `misses.csv`, the curves of text scores and the sheets of misses."""
    misses = [
        outcome for outcome in outcomes if outcome.verdict != READ and outcome.label.type != BAD
    ]
    misses.sort(key=lambda outcome: outcome.label.type != STANDARD)
    write_csv(PlateRow, map(row_of, outcomes), folder / "plates.csv")
    write_csv(PlateRow, map(row_of, misses), folder / "misses.csv")
    write_sheets((draw(tile_of(outcome)) for outcome in misses), folder, "misses")
    write_csv(Confusion, result.characters.confusions, folder / "confusions.csv")
    curve = coverage_curve(*scores_of(keep_found(of_type(outcomes, STANDARD))))
    write_csv(Coverage, curve, folder / "coverage.csv")
    with open_figure(folder / "coverage.png", 1, 2) as (left, right):
        draw_coverage(left, right, curve, threshold)
    calibration = result.calibration
    write_csv(ScoreBin, calibration.bins, folder / "reliability.csv")
    write_csv(ScoreBin, calibration.equal_mass_bins, folder / "reliability_equal_mass.csv")
    with open_figure(folder / "reliability.png", 2, 1) as (accuracy, counts):
        draw_reliability(accuracy, counts, calibration.bins, calibration.ece)


def row_of(outcome: Outcome) -> PlateRow:
    """Return the row of a labelled plate in `plates.csv`."""
    label, answer = outcome.label, outcome.answer
    row = PlateRow(outcome.path.name, label.type, label.text, outcome.verdict)
    if answer is None:
        return row
    x0, y0, x1, y1 = (round(side, 1) for side in answer.xyxy)
    return replace(
        row,
        shown=answer.text,
        best=outcome.best,
        text_score=round(outcome.score, 4),
        best_path=answer.raw_text,
        free_beam=outcome.free_text,
        detection_score=round(answer.detection_score, 4),
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        width_px=round(outcome.width_px, 1),
        tilt_deg=round(outcome.tilt_deg, 1),
    )


def tile_of(outcome: Outcome) -> Tile:
    """Return the tile of a plate that was not read: the wanted text, and the read text."""
    label, answer = outcome.label, outcome.answer
    outlines = [Outline.of_box(label.region, LABEL)]
    if answer is not None:
        outlines.append(Outline(answer.corners, FOUND) if answer.corners else
                        Outline.of_box(answer.xyxy, FOUND))  # fmt: skip
    return Tile(
        path=outcome.path,
        focus=label.region,
        detail=answer.xyxy if answer else label.region,
        outlines=tuple(outlines),
        caption=f"{outcome.path.name} ({label.type}): {_reason(outcome)}",
        characters=tuple(align(label.text, outcome.best)),
    )


def _reason(outcome: Outcome) -> str:
    if outcome.answer is None:
        return f"{MISSED}, no detection"
    if outcome.verdict == NOT_SHOWN and not outcome.best:
        return f"{NOT_SHOWN}, fits no format"
    return f"{outcome.verdict}, score {outcome.score:.2f}"
