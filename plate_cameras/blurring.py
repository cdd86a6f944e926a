"""Makes people and other plates in kept pictures unrecognisable.

Pixels are replaced, not filtered. A Gaussian blur, or a mosaic with cells smaller than a letter,
keeps enough of a text or a face to find it again: a program blurs all candidates in the same way
and compares. Here a plate becomes a flat area. Everything else becomes 24 columns of mean colours,
so that a face is less than one cell.

Faces are not searched for. OpenCV's detector (YuNet) needs a file of weights that no package
brings, and a face that it misses would stay.

Source: Hill et al. 2016, "On the (In)effectiveness of Mosaicing and Blurring as Tools for Document
Redaction".
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_cameras.configuration import NONE, PLATES
from plate_cameras.frames import Xyxy

Bgr = NDArray[np.uint8]
COLUMNS = 24
"""Mean colours in a row of a kept frame. At 1080p a cell has 80 px; a face rarely has more."""
STILL_COLUMNS = 160
"""Mean colours in a row of a still: lanes and barriers stay visible, so that zones can be drawn."""
FLAT = 128
"""Grey level of a hidden plate. It does not depend on the plate's pixels."""
PLATE_MARGIN = 0.2
"""Margin round a hidden plate, in heights of its box: detected boxes may cut the outer letters."""
FRONT = (1.0, 0.75, 1.0, 0.5)
"""The part that stays sharp: plate widths to the left, above, to the right and below the plate.

A plate of 52 cm hangs at 50 cm: this is the car's front up to 0.9 m. Faces of drivers and of people
who stand beside the car are higher.
"""

VEHICLE = (1.75, 2.25, 1.75, 1.0)
"""The part of a frame that shows a vehicle, in plate widths as those of `FRONT`: 2.3 m across."""
MAX_VEHICLE_WIDTH_PX = 480
"""Largest width of a vehicle's picture: make, colour and plate can be recognised."""
FACE = 0.4
"""Width of a mean colour in a vehicle's picture, in plate widths: 20 cm, more than a face has."""


def cut_vehicle(
    bgr: Bgr, plate: Xyxy, others: Sequence[Xyxy], blur: str
) -> tuple[Bgr, tuple[int, int, int, int]]:
    """Return a small picture of the vehicle round a plate, and the part of the frame that it shows.

    It is made unrecognisable as a whole frame, see `blur_frame`.
    """
    rows, columns = _clip(_surround(plate, VEHICLE), bgr)
    x0, y0 = columns.start, rows.start
    own_box, *other_boxes = (
        (left - x0, top - y0, right - x0, bottom - y0)
        for left, top, right, bottom in (plate, *others)
    )
    part = bgr[rows, columns]
    cells = max(1, round(part.shape[1] / (FACE * max(1.0, plate[2] - plate[0]))))
    picture = blur_frame(part, own_box, other_boxes, blur, columns=cells)
    height, width = picture.shape[:2]
    if width > MAX_VEHICLE_WIDTH_PX:
        size_wh = (MAX_VEHICLE_WIDTH_PX, max(1, round(height * MAX_VEHICLE_WIDTH_PX / width)))
        picture = cv2.resize(picture, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8)
    return picture, (x0, y0, columns.stop, rows.stop)


def blur_frame(
    bgr: Bgr, plate: Xyxy, others: Sequence[Xyxy], blur: str, *, columns: int = COLUMNS
) -> Bgr:
    """Return a frame that may be kept for the pass of one plate.

    Args:
        bgr: (H, W, 3) pixels of the frame.
        plate: Box of the pass's own plate in pixels of the frame; it stays readable.
        others: Boxes of all other plates in the frame.
        blur: `surroundings`: other plates are hidden, and only the vehicle's front stays sharp.
            `plates`: other plates are hidden. `none`: the frame stays as it is.
        columns: Number of mean colours in a row of the blurred part.

    Returns:
        A new array of the same shape.
    """
    if blur == NONE:
        return bgr.copy()
    hidden = hide_others(bgr, plate, others)
    if blur == PLATES:
        return hidden
    coarse = coarsen(hidden, columns)
    front = _clip(_surround(plate, FRONT), bgr)
    coarse[front] = hidden[front]
    return coarse


def blur_still(bgr: Bgr, plates: Sequence[Xyxy], blur: str) -> Bgr:
    """Return a still of a camera that may be kept and shown.

    A still shows the place, not a vehicle: no plate in it stays readable. The boxes must be those
    of all plates that the service found in this very frame, in pixels of `bgr`. A frame that the
    service has not answered must not become a still.

    Args:
        bgr: (H, W, 3) pixels of the frame.
        plates: Boxes of all plates in pixels of the frame.
        blur: `surroundings`: plates are hidden, and the picture is coarsened to 160 columns.
            `plates`: plates are hidden. `none`: the picture stays as it is.

    Returns:
        A new array of the same shape.
    """
    if blur == NONE:
        return bgr.copy()
    hidden = hide_plates(bgr, plates)
    return hidden if blur == PLATES else coarsen(hidden, STILL_COLUMNS)


def hide_others(bgr: Bgr, plate: Xyxy, others: Sequence[Xyxy]) -> Bgr:
    """Return a picture in which only one plate stays readable, and stays whole.

    If margins overlap, the margin of the visible plate stays, because its outer letters may be
    there. The box of a hidden plate yields only to the other's box: two boxes of the same plate
    may overlap.
    """
    hidden = hide_plates(bgr, others)
    margin_box, own_box = _clip(_grow(plate, PLATE_MARGIN), bgr), _clip(plate, bgr)
    hidden[margin_box] = bgr[margin_box]
    for box in others:
        hidden[_clip(box, bgr)] = FLAT
    hidden[own_box] = bgr[own_box]
    return hidden


def hide_plates(bgr: Bgr, plates: Sequence[Xyxy]) -> Bgr:
    """Return a picture whose plates are flat areas.

    Args:
        bgr: (H, W, 3) pixels.
        plates: Boxes in pixels of the picture; parts outside of it are left out.
    """
    hidden = bgr.copy()
    for box in plates:
        hidden[_clip(_grow(box, PLATE_MARGIN), bgr)] = FLAT
    return hidden


def coarsen(bgr: Bgr, columns: int) -> Bgr:
    """Return a picture of the same size that has only so many mean colours in a row.

    Args:
        bgr: (H, W, 3) pixels.
        columns: Number of mean colours in a row; rows get cells of the same height.
    """
    height, width = bgr.shape[:2]
    cells_wh = (min(columns, width), max(1, round(height * columns / width)))
    means = cv2.resize(bgr, cells_wh, interpolation=cv2.INTER_AREA)
    return cv2.resize(means, (width, height), interpolation=cv2.INTER_LINEAR).astype(
        np.uint8, copy=False
    )


def _grow(box: Xyxy, margin: float) -> Xyxy:
    """Return a box with a margin on each side, in heights of the box."""
    x0, y0, x1, y1 = box
    room = margin * (y1 - y0)
    return (x0 - room, y0 - room, x1 + room, y1 + room)


def _surround(plate: Xyxy, widths: tuple[float, float, float, float]) -> Xyxy:
    """Return a box round a plate: plate widths to the left, above, to the right and below it."""
    x0, y0, x1, y1 = plate
    left_px, above_px, right_px, below_px = (share * (x1 - x0) for share in widths)
    return (x0 - left_px, y0 - above_px, x1 + right_px, y1 + below_px)


def _clip(box: Xyxy, bgr: Bgr) -> tuple[slice, slice]:
    """Return a box as rows and columns of a picture. It is rounded outwards and clipped."""
    height, width = bgr.shape[:2]
    x0, y0 = (max(0, int(np.floor(side))) for side in box[:2])
    x1, y1 = (max(0, int(np.ceil(side))) for side in box[2:])
    return slice(min(y0, height), min(y1, height)), slice(min(x0, width), min(x1, width))
