"""The detector's answer: checks that it has the agreed form, and selects the plates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.arrays import Array, to_numpy
from orchestrator.contract import DETECTOR
from orchestrator.detection.boxes import clip, nms
from orchestrator.detection.letterbox import STRIDE, Letterbox
from orchestrator.errors import ModelError
from orchestrator.settings import Settings

WIDEST_SQUARE = 2.5
"""Ratio of width to height below which a box may hold a plate of two lines. Such plates have 1.3 to
2.0, and more when seen from above. Plates of one line have about 4.6, and less when seen at an
angle."""
CORNER_PX = 2.0
"""Boxes this near to the corner of the letterbox are wrong. No plate lies there, but all boxes do
that are fractions from 0 to 1."""
MAX_SHRINKAGE = 0.7
"""Pictures that were scaled down by this factor, or to less, get a second pass at full size."""
FAINT = 0.03
"""Boxes with a higher score may be small plates, in pictures that were scaled down much."""
TINY = float(np.finfo(np.float32).tiny)
"""Rows with smaller scores are padding, for any threshold."""


@dataclass(frozen=True)
class Detections:
    """The detector's boxes and scores: float32 [N, 4] xyxy and [N], arrays of NumPy."""

    xyxy: Array
    scores: Array

    def select(self, rows: Array | Sequence[int]) -> Detections:
        """Return the detections at these indices, or where this mask, bool [N], is true."""
        return Detections(self.xyxy[rows], self.scores[rows])


def to_pictures(
    rows: Array, boxes: Sequence[Letterbox], size_wh: tuple[int, int], settings: Settings
) -> list[Detections]:
    """Return the detector's rows [B, K, 6] above the threshold, in pixels of each picture.

    Args:
        rows: The detector's answer to a batch.
        boxes: The B letterboxes of the batch.
        size_wh: Size of each of the B pictures, pixels.
        settings: The threshold. In a picture that was scaled down much, faint rows count, too: they
            may be small plates.

    Raises:
        ModelError: The rows break the contract of the detector.
    """
    detections = []
    for picture_rows, box in zip(check_rows(rows, len(boxes)), boxes, strict=True):
        threshold = settings.detection_threshold
        if box.scale <= MAX_SHRINKAGE:
            threshold = min(threshold, FAINT)
        picture_rows = picture_rows[picture_rows[:, 4] >= max(threshold, TINY)]
        sure_rows = picture_rows[picture_rows[:, 4] >= settings.detection_threshold]
        if len(sure_rows):
            check_boxes(sure_rows, box, size_wh)
        xyxy, scores = picture_rows[:, :4], picture_rows[:, 4]
        has_area = (xyxy[:, :2] < xyxy[:, 2:]).all(1)
        xyxy = clip(box.to_source(xyxy[has_area]), size_wh)
        detections.append(Detections(xyxy, scores[has_area]))
    return detections


def keep_best(
    rows: Array, box: Letterbox, size_wh: tuple[int, int], settings: Settings
) -> Detections:
    """Keep rows [1, K, 6] above the threshold that overlap no better one, in picture pixels."""
    return best_of(to_pictures(rows, [box], size_wh, settings), settings)


def best_of(parts: Sequence[Detections], settings: Settings) -> Detections:
    """Keep detections above the threshold that overlap no better one, best first."""
    xyxy = np.concatenate([part.xyxy for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    is_sure = scores >= max(settings.detection_threshold, TINY)
    sure = Detections(xyxy, scores).select(is_sure)
    return sure.select(nms(sure.xyxy, sure.scores, settings.iou_threshold)[: settings.max_plates])


def check_rows(rows: Array, pictures: int) -> Array:
    """Return the detector's rows [B, K, 6] for B pictures as float32 of NumPy.

    Raises:
        ModelError: They have another shape, are not finite, or have scores outside [0, 1].
    """
    array = to_numpy(rows)
    if array.ndim != 3 or array.shape[::2] != (pictures, 6) or array.dtype.kind != "f":
        got = f"{array.dtype} {list(array.shape)}"
        raise ModelError(f"{DETECTOR}: wanted floats [{pictures}, K, 6], got {got}")
    array = array.astype(np.float32, copy=False)
    if not array.shape[1]:
        return array
    if not np.isfinite(array).all():
        for index, row in enumerate(array.reshape(-1, 6).tolist()):
            if not all(map(math.isfinite, row)):
                got = "NaN" if any(map(math.isnan, row)) else "infinity"
                raise ModelError(f"{DETECTOR}: wanted finite numbers, got {got} in row {index}")
    lowest, highest = array[..., 4].min().item(), array[..., 4].max().item()
    if lowest < 0 or highest > 1:
        got = f"{lowest if lowest < 0 else highest:g}"
        raise ModelError(f"{DETECTOR}: wanted scores in [0, 1], got {got}")
    return array


def check_boxes(sure_rows: Array, box: Letterbox, size_wh: tuple[int, int]) -> None:
    """Check that the boxes of rows [N, 6] above the threshold are xyxy in letterbox pixels.

    Raises:
        ModelError: A box is turned inside out, as most boxes given by centre and size are. Or all
            boxes lie in the corner, as boxes in fractions of the picture do, or outside.
    """
    wide, high = (math.ceil(round(size * box.scale) / STRIDE) * STRIDE for size in size_wh)
    boxes = sure_rows[:, :4].tolist()
    wrong_boxes = [xyxy for xyxy in boxes if xyxy[0] >= xyxy[2] or xyxy[1] >= xyxy[3]]
    if not wrong_boxes and not any(
        max(x1, y1) > CORNER_PX and min(x1, y1) > 0 and x0 < wide and y0 < high
        for x0, y0, x1, y1 in boxes
    ):
        wrong_boxes = boxes
    if wrong_boxes:
        got = ", ".join(f"{value:g}" for value in wrong_boxes[0])
        raise ModelError(
            f"{DETECTOR}: wanted x0 < x1 and y0 < y1 in pixels of the {wide}x{high} letterbox, "
            f"got {got}"
        )
