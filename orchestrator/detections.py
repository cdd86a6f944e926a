"""The detector's answer: whether it keeps its contract, and which plates it found."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orchestrator.boxes import clip, nms
from orchestrator.contract import DETECTOR
from orchestrator.errors import ModelError
from orchestrator.images import STRIDE, Letterbox
from orchestrator.settings import Settings

WIDEST_SQUARE = 2.5
"""Width per height under which a box may hold a plate of two lines. Such plates have 1.3 to 2.0,
and more when they are seen from above; those of one line about 4.6, and less when they are seen
askew."""
CORNER_PX = 2.0
"""No plate lies within so little of the letterbox; boxes in parts of it, from 0 to 1, all do."""
TINY = torch.finfo(torch.float32).tiny
"""Rows with smaller scores are padding, whatever the threshold."""


@dataclass(frozen=True)
class Detections:
    """What the detector found, best first: float32 [N, 4] xyxy on the CPU, and N scores."""

    xyxy: Tensor
    scores: list[float]


def keep_best(
    rows: Tensor, box: Letterbox, size_wh: tuple[int, int], settings: Settings
) -> Detections:
    """Keep the sure rows [1, K, 6] of the detector that overlap no better one, in the picture."""
    found = check_rows(rows)
    sure = found[found[:, 4] >= max(settings.detection_threshold, TINY)]
    if not len(sure):
        return Detections(sure[:, :4], [])
    check_boxes(sure, box, size_wh)
    kept = sure[nms(sure[:, :4], sure[:, 4], settings.iou_threshold)][: settings.max_plates]
    xyxy = clip(box.to_source(kept[:, :4]), size_wh)
    return Detections(xyxy, kept[:, 4].tolist())


def check_rows(rows: Tensor) -> Tensor:
    """Return the detector's rows [1, K, 6] as float32 [K, 6] on the CPU.

    Raises:
        ModelError: They have another shape, are not finite, or have scores out of [0, 1].
    """
    if rows.ndim != 3 or rows.shape[0] != 1 or rows.shape[2] != 6 or not rows.is_floating_point():
        raise ModelError(f"{DETECTOR}: wanted floats [1, K, 6], got {_describe(rows)}")
    found = rows[0].float().cpu()
    if not len(found):
        return found
    if not math.isfinite(found.sum().item()):
        for index, row in enumerate(found.tolist()):
            if not all(map(math.isfinite, row)):
                got = "NaN" if any(map(math.isnan, row)) else "infinity"
                raise ModelError(f"{DETECTOR}: wanted finite numbers, got {got} in row {index}")
    low, high = (score.item() for score in found[:, 4].aminmax())
    if low < 0 or high > 1:
        wrong = low if low < 0 else high
        raise ModelError(f"{DETECTOR}: wanted scores in [0, 1], got {wrong:g}")
    return found


def check_boxes(sure: Tensor, box: Letterbox, size_wh: tuple[int, int]) -> None:
    """See that the boxes of sure rows [N, 6] are xyxy in pixels of the letterbox.

    Raises:
        ModelError: One is turned inside out, as most boxes are that are centre and size; or all
            lie in the corner, as parts of the picture do, or outside.
    """
    wide, high = (math.ceil(round(size * box.scale) / STRIDE) * STRIDE for size in size_wh)
    boxes = sure[:, :4].tolist()
    wrong = [xyxy for xyxy in boxes if xyxy[0] >= xyxy[2] or xyxy[1] >= xyxy[3]]
    if not wrong and not any(
        max(x1, y1) > CORNER_PX and min(x1, y1) > 0 and x0 < wide and y0 < high
        for x0, y0, x1, y1 in boxes
    ):
        wrong = boxes
    if wrong:
        got = ", ".join(f"{value:g}" for value in wrong[0])
        raise ModelError(
            f"{DETECTOR}: wanted x0 < x1 and y0 < y1 in pixels of the {wide}x{high} letterbox, "
            f"got {got}"
        )


def find_squares(xyxy: Tensor) -> list[int]:
    """Return which of the boxes [N, 4] may hold plates of two lines."""
    size_wh = xyxy[:, 2:] - xyxy[:, :2]
    squares: list[int] = (size_wh[:, 0] < WIDEST_SQUARE * size_wh[:, 1]).nonzero()[:, 0].tolist()
    return squares


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
