"""What is written of reading: a row per plate, the curves of text scores, sheets of misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from evaluation.calibration import Coverage, ScoreBin, coverage_curve, reliability
from evaluation.datasets import BAD, SIDES, STANDARD
from evaluation.figures import Figures, found, of_type, scored
from evaluation.outcomes import MISSED, NOT_SHOWN, READ, Outcome
from evaluation.plots import plot_coverage, plot_reliability
from evaluation.reading import align
from evaluation.report import write_csv
from evaluation.sheet import FOUND, LABEL, Outline, Tile, write_sheets

COLUMNS = (
    "image", "type", "wanted", "verdict", "shown", "best", "text_score", "best_path", "free_beam",
    "detection_score", *SIDES, "width_px", "tilt_deg",
)  # fmt: skip


def write_reading(report: Figures, outcomes: Sequence[Outcome], folder: Path) -> None:
    """Write `plates.csv`, `misses.csv`, the curves of text scores and the sheets of misses."""
    missed = [o for o in outcomes if o.verdict != READ and o.label.type != BAD]
    missed.sort(key=lambda outcome: outcome.label.type != STANDARD)
    write_csv(folder / "plates.csv", COLUMNS, map(row_of, outcomes))
    write_csv(folder / "misses.csv", COLUMNS, map(row_of, missed))
    write_sheets(map(tile_of, missed), folder, "misses")
    reading = report["reading"]
    write_csv(
        folder / "confusions.csv",
        ("wanted", "read", "count"),
        reading["characters"]["confusions"],
    )
    scores_right = scored(found(of_type(outcomes, STANDARD)))
    curve, diagram = coverage_curve(*scores_right), reliability(*scores_right)
    write_csv(folder / "coverage.csv", _names(Coverage), map(asdict, curve))
    write_csv(folder / "reliability.csv", _names(ScoreBin), map(asdict, diagram))
    plot_coverage(curve, report["settings"]["text_threshold"], folder / "coverage.png")
    plot_reliability(diagram, reading["calibration"]["ece"], folder / "reliability.png")


def _names(kind: type[Coverage | ScoreBin]) -> list[str]:
    return [field.name for field in fields(kind)]


def row_of(outcome: Outcome) -> dict[str, Any]:
    """Return a labelled plate's row of `plates.csv`."""
    row: dict[str, Any] = {
        "image": outcome.path.name,
        "type": outcome.label.type,
        "wanted": outcome.label.text,
        "verdict": outcome.verdict,
    }
    if outcome.answer is None:
        return row
    return row | {
        "shown": outcome.answer.text,
        "best": outcome.best,
        "text_score": round(outcome.score, 4),
        "best_path": outcome.answer.raw_text,
        "free_beam": outcome.free_text,
        "detection_score": round(outcome.answer.detection_score, 4),
        **{side: round(at, 1) for side, at in zip(SIDES, outcome.answer.xyxy, strict=True)},
        "width_px": round(outcome.width_px, 1),
        "tilt_deg": round(outcome.tilt_deg, 1),
    }


def tile_of(outcome: Outcome) -> Tile:
    """Show a plate that was not read, what was wanted and what was read instead."""
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
