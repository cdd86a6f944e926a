"""Crops of plates, cut out of the full-size picture for STN and LPRNet."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from orchestrator.arrays import Array, empty_floats, namespace
from orchestrator.detection.boxes import clip, grow
from orchestrator.reading import bicubic
from orchestrator.reading.sizes import MAX_ON_GPU_HW, READER_SIZE_WH, TALLEST_PX

__all__ = [
    "MARGIN_XY", "MAX_ON_GPU_HW", "READER_SIZE_WH", "TALLEST_PX",
    "crop_boxes", "crop_plates", "cut_boxes", "normalize_crops", "resize_crop", "unfold",
]  # fmt: skip

BRIGHTEST = np.float32(127.5 / 128)
"""The value of 255 in the reader's input, and the negative value of 0."""
MARGIN_XY = (0.08, 0.25)  # a box may be too tight; STN finds plates in wide crops


def crop_plates(
    picture: Array,
    xyxy: Array,
    margin_xy: tuple[float, float] = MARGIN_XY,
    *,
    lines: int = 1,
) -> Array:
    """Cut plates out of the full-size picture for STN and LPRNet.

    Each box is grown by the margin, because detectors give tight boxes, and clipped to the picture.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: float32 [N, 4] of NumPy, picture pixels.
        margin_xy: Growth at each side as a fraction of the box's width and height.
        lines: Lines of the plates; plates of 2 lines are unfolded to one row of characters.

    Returns:
        float32 [N, 3, 24, 94] RGB, (x - 127.5) / 128, on the picture's device.
    """
    return cut_boxes(picture, crop_boxes(picture, xyxy, margin_xy), lines=lines)


def cut_boxes(
    picture: Array, boxes: Sequence[tuple[int, int, int, int]], *, lines: int = 1
) -> Array:
    """Cut the whole-pixel boxes of `crop_boxes` out of a picture. See `crop_plates`."""
    width, height = READER_SIZE_WH
    crops = empty_floats(picture, (len(boxes), 3, height, width))
    for index, (x0, y0, x1, y1) in enumerate(boxes):
        crop = picture[y0:y1, x0:x1]
        crops[index] = resize_crop(crop if lines == 1 else unfold(crop))[0]
    return normalize_crops(crops)


def unfold(crop: Array) -> Array:
    """Put the upper half of a crop left of its lower half: [H, W, 3] becomes [(H + 1) // 2, 2W, 3].

    If the number of rows is odd, the middle row is in both halves.
    """
    height = len(crop)
    return namespace(crop).concatenate((crop[: (height + 1) // 2], crop[height // 2 :]), 1)


def resize_crop(
    crop: Array, size_wh: tuple[int, int] = READER_SIZE_WH, tallest_px: int = TALLEST_PX
) -> Array:
    """Resize a crop, uint8 [H, W, 3], to the reader's size: float32 [1, 3, 24, 94]."""
    if not isinstance(crop, np.ndarray):
        from orchestrator.reading import torch_crops

        return torch_crops.resize_crop(crop, size_wh, tallest_px)
    if max(crop.shape[:2]) > tallest_px:  # the weights of a long row would take gigabytes
        height, width = (min(side, tallest_px) for side in crop.shape[:2])
        crop = cv2.resize(crop, (width, height), interpolation=cv2.INTER_AREA)
    return bicubic.resize(crop, size_wh[::-1])[None]


def normalize_crops(crops: Array) -> Array:
    """Turn float32 [N, 3, 24, 94] BGR in about [0, 255] into RGB, (x - 127.5) / 128."""
    if not isinstance(crops, np.ndarray):
        from orchestrator.reading import torch_crops

        return torch_crops.normalize_crops(crops)
    normal = crops[:, ::-1] - np.float32(127.5)
    normal *= np.float32(1 / 128)
    return normal.clip(-BRIGHTEST, BRIGHTEST, out=normal)


def crop_boxes(
    picture: Array, xyxy: Array, margin_xy: tuple[float, float] = MARGIN_XY
) -> list[tuple[int, int, int, int]]:
    """Return the whole-pixel boxes, at least one pixel each way, that `crop_plates` cuts out."""
    height, width = picture.shape[:2]
    grown_boxes = clip(grow(xyxy, margin_xy), (width, height)).round()
    boxes = [[int(side) for side in box] for box in grown_boxes.tolist()]
    corners = ((min(x0, width - 1), min(y0, height - 1), x1, y1) for x0, y0, x1, y1 in boxes)
    return [(x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)) for x0, y0, x1, y1 in corners]
