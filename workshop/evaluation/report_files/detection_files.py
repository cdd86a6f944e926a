"""Writes the results of detection: a row per label and false alarm, the curve, and sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workshop.evaluation.datasets import SIDES, Box
from workshop.evaluation.detection import DetectedPicture, Match, curve_of, match
from workshop.evaluation.report_files.drawings import (
    FOUND,
    LABEL,
    Outline,
    Tile,
    draw,
    draw_precision_recall,
)
from workshop.evaluation.results import DetectionResult
from workshop.reporting.files import write_rows
from workshop.reporting.plots import open_figure
from workshop.reporting.sheets import write_sheets

HIT, MISS, FALSE_ALARM = "hit", "miss", "false alarm"


COLUMNS = ("image", "kind", *SIDES, "width_px", "score", "iou")
"""The columns of `detections.csv`; the box is that of the label if there is one."""


@dataclass(frozen=True)
class JudgedMatch:
    """A match in its picture, judged as a hit, a miss or a false alarm.

    Attributes:
        kind: The kind: `hit`, `miss`, `false alarm`, or `""` for one below the threshold.
    """

    picture: DetectedPicture
    match: Match
    kind: str

    @property
    def score(self) -> float:
        """The score of the detection; 0 without one."""
        index = self.match.detection
        return 0.0 if index is None else self.picture.scores[index]

    @property
    def box(self) -> Box:
        """The box of the label, or of the detection if it found no label."""
        if self.match.label is not None:
            return self.picture.labels[self.match.label]
        assert self.match.detection is not None  # a match has one of both
        return self.picture.boxes[self.match.detection]


def write_detection(
    result: DetectionResult,
    pictures: Sequence[DetectedPicture],
    files: Sequence[Path],
    folder: Path,
) -> None:
    """Write `detections.csv`, the curve, and sheets that help to find wrong labels."""
    paths, threshold = {path.name: path for path in files}, result.at_threshold.threshold or 0.0
    judged_matches = [
        judge_match(picture, pair, threshold) for picture in pictures for pair in match(picture)
    ]
    write_rows(
        COLUMNS,
        [row_of(judged_match) for judged_match in judged_matches if judged_match.kind],
        folder / "detections.csv",
    )
    for kind, stem in ((FALSE_ALARM, "false_alarms"), (MISS, "missed_boxes")):
        sheet_matches = [
            judged_match for judged_match in judged_matches if judged_match.kind == kind
        ]
        sheet_matches.sort(key=lambda judged_match: judged_match.score, reverse=True)
        write_sheets(
            (draw(tile_of(judged_match, paths)) for judged_match in sheet_matches), folder, stem
        )
    curve = curve_of(pictures)
    columns = {name: getattr(curve, name) for name in ("threshold", "precision", "recall")}
    pd.DataFrame(columns).to_csv(folder / "precision_recall.csv", index=False)
    with open_figure(folder / "precision_recall.png", 1, 1) as (axes,):
        draw_precision_recall(axes, curve, threshold, result.map50)


def judge_match(picture: DetectedPicture, pair: Match, threshold: float) -> JudgedMatch:
    """Judge a match at a threshold."""
    sure = pair.detection is not None and picture.scores[pair.detection] >= threshold
    if pair.label is None:
        return JudgedMatch(picture, pair, FALSE_ALARM if sure else "")
    return JudgedMatch(picture, pair, HIT if sure else MISS)


def row_of(judged_match: JudgedMatch) -> dict[str, object]:
    """Return the row of a match in `detections.csv`."""
    box = judged_match.box
    return {
        "image": judged_match.picture.image,
        "kind": judged_match.kind,
        **dict(zip(SIDES, (round(side, 1) for side in box), strict=True)),
        "width_px": round(box[2] - box[0], 1),
        "score": round(judged_match.score, 4),
        "iou": round(judged_match.match.iou, 3),
    }


def tile_of(judged_match: JudgedMatch, paths: Mapping[str, Path]) -> Tile:
    """Return the tile of a miss or a false alarm, with every label of the picture."""
    picture, box = judged_match.picture, judged_match.box
    outlines = [Outline.of_box(label, LABEL) for label in picture.labels]
    if judged_match.match.detection is not None:
        outlines.append(Outline.of_box(picture.boxes[judged_match.match.detection], FOUND))
    score, width = f"score {judged_match.score:.2f}", f"{box[2] - box[0]:.0f} px"
    return Tile(
        path=paths[picture.image],
        focus=box,
        detail=box,
        outlines=tuple(outlines),
        caption=f"{picture.image}: {judged_match.kind}, {score}, {width}",
    )
