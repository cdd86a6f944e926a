"""Draws plates on their picture, and cuts them out of it, for people."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.imaging.files import DRAWING, Bgr, mark
from orchestrator.plates import Plate, Plates

READ, UNREAD = (60, 180, 40), (40, 140, 240)  # BGR: green, orange
INK = (255, 255, 255)
JPEG_QUALITY = 90
CROP_MARGIN_XY = (0.08, 0.25)
"""Margin around a plate that is cut out, at each side, as a fraction of its width and height. The
service uses the same margin, so `plates read-crop` reads such a crop well."""


def annotate(picture: Bgr, plates: Plates) -> Bgr:
    """Return a copy of a picture with each plate's box, the outline of its corners, and its text.

    Plates that were read are green; plates that were only found are orange. The letters of Russian
    plates look the same in Latin and in Cyrillic.

    Args:
        picture: uint8 [H, W, 3] BGR.
        plates: Plates in pixels of that picture.
    """
    drawing = picture.copy()
    thickness = max(2, round(max(picture.shape[:2]) / 640))
    for plate in plates:
        colour = READ if plate.text else UNREAD
        x0, y0, x1, y1 = (round(side) for side in plate.xyxy)
        cv2.rectangle(drawing, (x0, y0), (x1, y1), colour, max(1, thickness // 2))
        outline = corners_of(plate).round().astype(np.int32)
        cv2.polylines(drawing, [outline], True, colour, thickness, cv2.LINE_AA)
        _label(drawing, plate, colour)
    return drawing


def straighten(picture: Bgr, plate: Plate) -> Bgr:
    """Cut a plate out of its picture, upright and seen from the front, with a margin around it.

    Args:
        picture: uint8 [H, W, 3] BGR.
        plate: A plate in pixels of that picture.

    Returns:
        uint8 [h, w, 3] BGR, with about as many pixels as the plate has. Outside the picture, its
        outermost pixels are repeated.
    """
    corners = corners_of(plate)
    edges = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    width, height = (max(1.0, float(edges[side::2].mean())) for side in (0, 1))
    x, y = CROP_MARGIN_XY[0] * width, CROP_MARGIN_XY[1] * height
    inner = np.array([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], np.float32)
    size_wh = (max(1, round(width + 2 * x)), max(1, round(height + 2 * y)))
    warp = cv2.getPerspectiveTransform(corners, inner)
    return np.asarray(
        cv2.warpPerspective(picture, warp, size_wh, borderMode=cv2.BORDER_REPLICATE), np.uint8
    )


def corners_of(plate: Plate) -> npt.NDArray[np.float32]:
    """Return a plate's corners [4, 2] in pixels, clockwise from top-left; else those of its box."""
    x0, y0, x1, y1 = plate.xyxy
    box = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return np.asarray(plate.corners or box, np.float32)


def _label(drawing: Bgr, plate: Plate, colour: tuple[int, int, int]) -> None:
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
    left = min(max(0, round((x0 + x1 - width) / 2)), max(0, drawing.shape[1] - width - 2 * margin))
    corner = (left + width + 2 * margin, top + total)
    cv2.rectangle(drawing, (left, top), corner, colour, cv2.FILLED)
    origin = (left + margin, top + height + margin // 2)
    cv2.putText(drawing, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, INK, thickness, cv2.LINE_AA)


def to_png(picture: Bgr, kind: bytes = DRAWING) -> bytes:
    """Return a drawing or a crop as a PNG file, labelled as such."""
    _, file = cv2.imencode(".png", picture)
    return mark(file.tobytes(), kind)


def to_jpeg(picture: Bgr, kind: bytes = DRAWING) -> bytes:
    """Return a drawing or a crop as a labelled JPEG file, a tenth of the size of a PNG."""
    _, file = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return mark(file.tobytes(), kind)
