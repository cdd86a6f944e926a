"""Writes the results of reading: a row per plate, curves of text scores, sheets of misses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workshop.evaluation.datasets import BAD, SIDES, STANDARD
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
from workshop.reporting.files import write_csv, write_rows
from workshop.reporting.plots import open_figure
from workshop.reporting.sheets import write_sheets

COLUMNS = (
    "image", "type", "wanted", "verdict", "shown", "best", "text_score", "best_path",
    "detection_score", "x0", "y0", "x1", "y1", "width_px", "tilt_deg",
)  # fmt: skip
"""The columns of `plates.csv`; those after the verdict are empty for a missed plate."""


def write_reading(
    result: ReadingResult, outcomes: Sequence[Outcome], threshold: float, folder: Path
) -> None:
    """Write `plates.csv`, `misses.csv`, the curves of text scores and the sheets of misses."""
    misses = [
        outcome for outcome in outcomes if outcome.verdict != READ and outcome.label.type != BAD
    ]
    misses.sort(key=lambda outcome: outcome.label.type != STANDARD)
    write_rows(COLUMNS, map(row_of, outcomes), folder / "plates.csv")
    write_rows(COLUMNS, map(row_of, misses), folder / "misses.csv")
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


def row_of(outcome: Outcome) -> dict[str, object]:
    """Return the row of a labelled plate in `plates.csv`."""
    label, answer = outcome.label, outcome.answer
    row: dict[str, object] = {
        "image": outcome.path.name,
        "type": label.type,
        "wanted": label.text,
        "verdict": outcome.verdict,
    }
    if answer is None:
        return row
    sides = (round(side, 1) for side in answer.xyxy)
    return row | dict(zip(SIDES, sides, strict=True)) | {
        "shown": answer.text,
        "best": outcome.best,
        "text_score": round(outcome.score, 4),
        "best_path": answer.raw_text,
        "detection_score": round(answer.detection_score, 4),
        "width_px": round(outcome.width_px, 1),
        "tilt_deg": round(outcome.tilt_deg, 1),
    }  # fmt: skip


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
