"""Matches detections with labelled boxes; computes precision, recall and average precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.detection.boxes import iou
from workshop.evaluation.datasets import Box

Floats = npt.NDArray[np.float64]

IOU_THRESHOLD = 0.5
COCO_THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))


@dataclass(frozen=True)
class DetectedPicture:
    """The detections and labels of one picture; boxes are xyxy pixels.

    Attributes:
        ignored: Plates without a label; a detection there is neither right nor wrong.
    """

    image: str
    boxes: tuple[Box, ...]
    scores: tuple[float, ...]
    labels: tuple[Box, ...]
    ignored: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Match:
    """A pair of a detection and a label in one picture; one of both may be missing.

    Attributes:
        detection: The index of the detection; None for a label that was not found.
        label: The index of the label; None for a false alarm.
        iou: Their IoU. For a false alarm, the best IoU with any label, or 0.
    """

    detection: int | None
    label: int | None
    iou: float


def match(picture: DetectedPicture, iou_threshold: float = IOU_THRESHOLD) -> list[Match]:
    """Pair detections with labels greedily, best score first, each label at most once.

    A detection gets the free label that it overlaps most. A detection that gets no label but
    overlaps an ignored box (IoU 0.5) is left out.

    Returns:
        One match for each counted detection, best score first, then one for each missed label.

    Source: Everingham et al. 2010 (PASCAL VOC); Lin et al. 2014 (COCO).
    """
    overlaps, unlabelled = _iou(picture.boxes, picture.labels), _iou(picture.boxes, picture.ignored)
    free = set(range(len(picture.labels)))
    matches = []
    for index in sorted(range(len(picture.boxes)), key=lambda i: -picture.scores[i]):
        row = overlaps[index]
        best = max(free, key=row.__getitem__, default=None)
        if best is not None and row[best] >= iou_threshold:
            free.remove(best)
            matches.append(Match(index, best, row[best]))
        elif max(unlabelled[index], default=0) < IOU_THRESHOLD:
            matches.append(Match(index, None, max(row, default=0.0)))
    return matches + [Match(None, label, 0.0) for label in sorted(free)]


def _iou(boxes: Sequence[Box], others: Sequence[Box]) -> list[list[float]]:
    first, second = (np.array(xyxy, np.float32).reshape(-1, 4) for xyxy in (boxes, others))
    rows: list[list[float]] = iou(first, second).tolist()
    return rows


@dataclass(frozen=True)
class Curve:
    """Precision and recall at falling thresholds, with a point for each distinct score.

    Attributes:
        threshold: [N], the scores, falling.
        precision: [N].
        recall: [N], rising.
    """

    threshold: Floats
    precision: Floats
    recall: Floats

    @property
    def f1(self) -> Floats:
        both = self.precision + self.recall
        f1: Floats = 2 * self.precision * self.recall / np.where(both > 0, both, 1)
        return f1


def precision_recall(scores: Sequence[float], hits: Sequence[bool], labels: int) -> Curve:
    """Compute the curve of precision and recall over all detections of a data set.

    Args:
        scores: The score of every counted detection.
        hits: For each of these detections, true when it found a label.
        labels: The number of labelled boxes in the data set, at least one.
    """
    order = np.argsort(-np.asarray(scores, float), kind="stable")
    score, hit = np.asarray(scores, float)[order], np.asarray(hits, bool)[order]
    last = np.append(score[1:] != score[:-1], True)[: len(score)]  # of equal scores
    hits_so_far, shown_so_far = hit.cumsum()[last], np.arange(1, len(hit) + 1)[last]
    return Curve(score[last], hits_so_far / shown_so_far, hits_so_far / labels)


def average_precision(curve: Curve) -> float:
    """Return the area under the interpolated precision-recall curve, over all points.

    The interpolated precision at a recall is the best precision at that recall or a higher one.

    Source: Everingham et al. 2010, "The PASCAL visual object classes challenge", as used from 2010.
    """
    envelope = np.maximum.accumulate(curve.precision[::-1])[::-1]
    return float((np.diff(curve.recall, prepend=0.0) * envelope).sum())


def curve_of(pictures: Sequence[DetectedPicture], iou_threshold: float = IOU_THRESHOLD) -> Curve:
    """Match the detections of every picture; return the precision-recall curve of all."""
    detections = [
        (picture.scores[pair.detection], pair.label is not None)
        for picture in pictures
        for pair in match(picture, iou_threshold)
        if pair.detection is not None
    ]
    scores, hits = [score for score, _ in detections], [hit for _, hit in detections]
    return precision_recall(scores, hits, sum(len(picture.labels) for picture in pictures))
