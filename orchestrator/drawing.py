"""Plates drawn on their picture, for people."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.picture_files import Bgr, mark_drawing
from orchestrator.plates import Plate, Plates

READ, UNREAD = (60, 180, 40), (40, 140, 240)  # BGR: green, orange
INK = (255, 255, 255)


def annotate(picture: Bgr, plates: Plates) -> Bgr:
    """Return a copy of a picture with each plate's outline and text.

    Green for plates that were read, orange for plates that were only found.

    Args:
        picture: uint8 [H, W, 3] BGR.
        plates: In pixels of that picture.
    """
    drawn = picture.copy()
    thickness = max(2, round(max(picture.shape[:2]) / 640))
    for plate in plates:
        colour = READ if plate.text else UNREAD
        cv2.polylines(drawn, [_outline(plate)], True, colour, thickness, cv2.LINE_AA)
        _label(drawn, plate, colour)
    return drawn


def _outline(plate: Plate) -> npt.NDArray[np.int32]:
    x0, y0, x1, y1 = plate.xyxy
    box = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return np.asarray(plate.corners or box).round().astype(np.int32)


def _label(drawn: Bgr, plate: Plate, colour: tuple[int, int, int]) -> None:
    """Write the text above the plate, or below it at the top edge of the picture."""
    text = f"{plate.text or '?'} {plate.text_score:.0%}"
    x0, y0, x1, y1 = plate.xyxy
    scale = min(max((x1 - x0) / 190, 0.45), 1.6)
    thickness = max(1, round(1.6 * scale))
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, thickness)
    margin = round(0.3 * height)
    total = height + below + margin
    top = round(y0 - total - 0.35 * (y1 - y0))
    top = top if top >= 0 else round(y1 + 0.35 * (y1 - y0))
    left = min(max(0, round((x0 + x1 - width) / 2)), max(0, drawn.shape[1] - width - 2 * margin))
    corner = (left + width + 2 * margin, top + total)
    cv2.rectangle(drawn, (left, top), corner, colour, cv2.FILLED)
    origin = (left + margin, top + height + margin // 2)
    cv2.putText(drawn, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, INK, thickness, cv2.LINE_AA)


def to_png(drawn: Bgr) -> bytes:
    """Return a drawing as a PNG file that says that it is one."""
    _, encoded = cv2.imencode(".png", drawn)
    return mark_drawing(encoded.tobytes())
