"""What is written of detection: a row per label and false alarm, the curve, sheets of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.datasets import SIDES, Box
from evaluation.detection import Detected, Match, curve_of, match
from evaluation.figures import Figures
from evaluation.plots import plot_precision_recall
from evaluation.report import write_csv
from evaluation.sheet import FOUND, LABEL, Outline, Tile, write_sheets

HIT, MISS, FALSE_ALARM = "hit", "miss", "false alarm"

COLUMNS = ("image", "kind", *SIDES, "width_px", "score", "iou")
CURVE = ("threshold", "precision", "recall")


def write_detection(
    report: Figures, pictures: Sequence[Detected], files: Sequence[Path], folder: Path
) -> None:
    """Write `detections.csv`, the curve, and sheets in which wrong labels can be found."""
    detection, paths = report["detection"], {path.name: path for path in files}
    threshold = detection["at_threshold"]["threshold"]
    judged = [(picture, one) for picture in pictures for one in match(picture)]
    rows = [row_of(picture, one, kind_of(picture, one, threshold)) for picture, one in judged]
    write_csv(folder / "detections.csv", COLUMNS, [row for row in rows if row["kind"]])
    for kind, stem in ((FALSE_ALARM, "false_alarms"), (MISS, "missed_boxes")):
        chosen = [each for each in judged if kind_of(*each, threshold) == kind]
        chosen.sort(key=lambda each: score_of(*each), reverse=True)
        write_sheets([tile_of(*each, kind, paths) for each in chosen], folder, stem)
    curve = curve_of(pictures)
    points = zip(curve.threshold, curve.precision, curve.recall, strict=True)
    table = [dict(zip(CURVE, point, strict=True)) for point in points]
    write_csv(folder / "precision_recall.csv", CURVE, table)
    plot_precision_recall(curve, threshold, detection["map50"], folder / "precision_recall.png")


def score_of(picture: Detected, one: Match) -> float:
    """Return the score of a match's detection, 0 without one."""
    return 0.0 if one.detection is None else picture.scores[one.detection]


def kind_of(picture: Detected, one: Match, threshold: float) -> str:
    """Return `hit`, `miss` or `false alarm`; `""` for a false alarm below the threshold."""
    sure = one.detection is not None and score_of(picture, one) >= threshold
    if one.label is None:
        return FALSE_ALARM if sure else ""
    return HIT if sure else MISS


def box_of(picture: Detected, one: Match) -> Box:
    """Return a match's label, or its detection where that found none."""
    if one.label is not None:
        return picture.labels[one.label]
    assert one.detection is not None  # a match has one of both
    return picture.boxes[one.detection]


def row_of(picture: Detected, one: Match, kind: str) -> dict[str, Any]:
    """Return a match's row of `detections.csv`, with the label's box where there is one."""
    box = box_of(picture, one)
    return {
        "image": picture.image,
        "kind": kind,
        **{side: round(at, 1) for side, at in zip(SIDES, box, strict=True)},
        "width_px": round(box[2] - box[0], 1),
        "score": round(score_of(picture, one), 4),
        "iou": round(one.iou, 3),
    }


def tile_of(picture: Detected, one: Match, kind: str, paths: Mapping[str, Path]) -> Tile:
    """Show a miss or a false alarm with every label of the picture."""
    box = box_of(picture, one)
    outlines = [Outline.of_box(label, LABEL) for label in picture.labels]
    if one.detection is not None:
        outlines.append(Outline.of_box(picture.boxes[one.detection], FOUND))
    width = box[2] - box[0]
    return Tile(
        path=paths[picture.image],
        focus=box,
        detail=box,
        outlines=tuple(outlines),
        caption=f"{picture.image}: {kind}, score {score_of(picture, one):.2f}, {width:.0f} px",
    )
