"""The pixels of plates in a frame: their sharpness, and the crop that is kept."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.errors import PictureError
from plate_cameras.blurring import hide_others
from plate_cameras.frame_pixels import decode_frame
from plate_cameras.frames import Frame, Xyxy

SIZE_WH = (96, 24)
"""Size to which plates are scaled before they are measured: about that of the reader's input."""
BLURRED, SHARP = 0.10, 0.32
"""Mean step from pixel to pixel in a row, in standard deviations of the plate's pixels. These steps
have sharpness 0 and 1: a plate of 12 px that was enlarged, and one that fills its row."""
MARGIN = 0.5
"""Margin of a crop on each side, in heights of the plate."""
CROP_QUALITY = 92


class PlatePixels:
    """Decodes frames. A frame is decoded once for all its plates, and in grey."""

    def measure(self, frame: Frame, boxes: Sequence[Xyxy]) -> list[float]:
        """Return the sharpness of each box, in [0, 1]."""
        if not boxes:
            return []
        grey = _decode(frame, cv2.IMREAD_GRAYSCALE)
        return [measure_sharpness(_cut(grey, box, margin_px=0)) for box in boxes]

    def crop(self, frame: Frame, box: Xyxy, others: Sequence[Xyxy]) -> bytes:
        """Return a box with a margin as a JPEG file, in which other plates are hidden."""
        bgr = hide_others(_decode(frame, cv2.IMREAD_COLOR), box, others)
        part = _cut(bgr, box, margin_px=round(MARGIN * (box[3] - box[1])))
        return cv2.imencode(".jpg", part, [cv2.IMWRITE_JPEG_QUALITY, CROP_QUALITY])[1].tobytes()


def measure_sharpness(grey: NDArray[np.uint8]) -> float:
    """Return the sharpness of a plate, in [0, 1].

    Motion and small plates lower it alike: it is measured at the reader's size, along the rows.

    Args:
        grey: (H, W) pixels of the plate.
    """
    interpolation = cv2.INTER_AREA if grey.shape[1] > SIZE_WH[0] else cv2.INTER_LINEAR
    scaled = cv2.resize(grey, SIZE_WH, interpolation=interpolation).astype(np.float32)
    spread = float(scaled.std())
    if spread < 1:
        return 0.0
    step = float(np.abs(np.diff(scaled, axis=1)).mean()) / spread
    return min(1.0, max(0.0, (step - BLURRED) / (SHARP - BLURRED)))


def _decode(frame: Frame, flag: int) -> NDArray[np.uint8]:
    picture = decode_frame(frame.jpeg, flag)
    if picture is None:
        raise PictureError(f"frame {frame.number} of {frame.camera}: wanted a JPEG file")
    return picture


def _cut(picture: NDArray[np.uint8], box: Xyxy, *, margin_px: int) -> NDArray[np.uint8]:
    """Return a part of a picture, clipped to it, of at least one pixel."""
    height, width = picture.shape[:2]
    x0, y0 = (
        min(max(0, int(side) - margin_px), side_px - 1)
        for side, side_px in zip(box[:2], (width, height), strict=True)
    )
    x1, y1 = round(box[2]) + margin_px, round(box[3]) + margin_px
    return picture[y0 : max(y0 + 1, y1), x0 : max(x0 + 1, x1)]
