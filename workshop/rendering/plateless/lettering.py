"""Lettering of boards that are no plates: OpenCV's fonts, the project's glyphs, strange signs."""

from __future__ import annotations

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.glyphs import GLYPHS, Mask, Points, arc, glyph_mask, line, outline
from workshop.rendering.painting import Colour

FONTS = (
    cv2.FONT_HERSHEY_SIMPLEX,
    cv2.FONT_HERSHEY_DUPLEX,
    cv2.FONT_HERSHEY_COMPLEX,
    cv2.FONT_HERSHEY_TRIPLEX,
    cv2.FONT_HERSHEY_PLAIN,
)
"""Upright fonts of OpenCV, drawn as strokes."""
GLYPHS_SHARE = 0.45
"""Share of the rows in the project's glyphs, which are shaped like those of plates."""
PENS_PX = (5, 18)
"""Smallest and greatest width of a stroke of a font 90 pixels high."""


def random_row(rng: np.random.Generator, text: str, height_px: int) -> Mask:
    """Draw a row of text in a random font, (height_px, W) uint8."""
    if rng.random() < GLYPHS_SHARE and all(char in GLYPHS or char in " -" for char in text):
        return glyph_row(text, height_px, float(np.round(rng.uniform(0.6, 1.2), 1)))
    font = FONTS[int(rng.integers(len(FONTS)))]
    return font_row(text, height_px, font, int(rng.integers(*PENS_PX)))


def font_row(text: str, height_px: int, font: int, pen_px: int) -> Mask:
    """Draw a row of text in a font of OpenCV, (height_px, W) uint8."""
    scale = cv2.getFontScaleFromHeight(font, 90)
    (width, height), below = cv2.getTextSize(text, font, scale, pen_px)
    sheet = np.zeros((height + below + 2 * pen_px, width + 2 * pen_px), np.uint8)
    cv2.putText(sheet, text, (pen_px, height + pen_px), font, scale, (255,), pen_px, cv2.LINE_AA)
    return _scale(_trim(sheet), height_px)


def glyph_row(text: str, height_px: int, weight: float) -> Mask:
    """Draw a row in the project's glyphs, (height_px, W) uint8; `-` is a bar, a space a gap."""
    gap = np.zeros((height_px, max(1, height_px // 8)), np.uint8)
    parts = [gap]
    for char in text:
        part = np.zeros((height_px, max(2, height_px // 3)), np.uint8)
        if char == "-":
            part[height_px * 45 // 100 : height_px * 58 // 100] = 255
        elif char != " ":
            part = glyph_mask(char, height_px, weight)
        parts += [part, gap]
    return np.concatenate(parts, axis=1)


def strange_row(rng: np.random.Generator, count: int, height_px: int) -> Mask:
    """Draw a row of signs of no alphabet, (height_px, W) uint8."""
    pen = float(rng.uniform(8, 16))
    sheet = np.zeros((120, 100 * count + 20), np.uint8)
    for index in range(count):
        for stroke in _strange_strokes(rng):
            moved = outline(stroke, pen) + np.array([10 + 100 * index, 10])
            for corners in np.round(moved * 16):
                cv2.fillConvexPoly(sheet, corners.astype(np.int32), (255,), cv2.LINE_AA, 4)
    return _scale(_trim(sheet), height_px)


def _strange_strokes(rng: np.random.Generator) -> list[Points]:
    """Return the strokes of one character (bars, arcs, slants) in a box of 90 x 100 units."""
    strokes = []
    for _ in range(int(rng.integers(2, 6))):
        x, y = rng.uniform(10, 80), rng.uniform(10, 90)
        shape = int(rng.integers(4))
        if shape == 0:
            strokes.append(line(10, y, 80, y))
        elif shape == 1:
            strokes.append(line(x, 5, x, 95))
        elif shape == 2:
            strokes.append(line(x, 10, 90 - x, 90))
        else:
            start = int(rng.integers(0, 360))
            radius = (float(rng.uniform(12, 35)), float(rng.uniform(12, 40)))
            strokes.append(arc((45, 50), radius, start, start + int(rng.integers(90, 300))))
    return strokes


def stamp(
    board: Bgr, mask: Mask, centre_xy: tuple[float, float], ink: Colour, room_px: float
) -> None:
    """Paint a row on a board; one wider than `room_px` is narrowed to it.

    Raises:
        ValueError: The row does not fit the board.
    """
    if mask.shape[1] > room_px:
        size_wh = (max(1, round(room_px)), mask.shape[0])
        mask = cv2.resize(mask, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8)
    height, width = mask.shape
    left, top = round(centre_xy[0] - width / 2), round(centre_xy[1] - height / 2)
    if left < 0 or top < 0:
        raise ValueError(f"row: wanted one within the board, got {width} x {height} at {centre_xy}")
    place = board[top : top + height, left : left + width]
    alpha = mask[:, :, None].astype(np.float32) / 255
    place[:] = place * (1 - alpha) + np.array(ink, np.float32) * alpha


def _trim(sheet: Mask) -> Mask:
    """Cut off the empty edges of a mask."""
    x, y, width, height = cv2.boundingRect(sheet)
    return sheet[y : y + height, x : x + width]


def _scale(mask: Mask, height_px: int) -> Mask:
    size_wh = (max(1, round(mask.shape[1] * height_px / mask.shape[0])), height_px)
    return cv2.resize(mask, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8)
