"""Glyph outlines of number plates, drawn as strokes after GOST R 50577.

Every character is a few strokes in a box 100 units high; x grows to the right, y downwards.
A stroke is its centre line. Digits and letters have different pen widths in these units. Both have
strokes of about 10 mm in the standard, but digits are 76 mm high and letters 58 mm. Letters that
Russian plates do not have are our own drawings in the same style; they follow no standard.
"""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""(N, 2) float64 x y, in 1/100 of the glyph's height."""
Mask = NDArray[np.uint8]
"""(H, W) uint8; 255 is paint, 0 is none."""

SUPERSAMPLING = 4


@dataclass(frozen=True)
class Glyph:
    """One character in a box of `width` x 100 units."""

    width: float
    pen: float
    strokes: tuple[Points, ...]


def line(*xy: float) -> Points:
    """Return the centre line through the given points: x, y, x, y, ..."""
    return np.array(xy, dtype=np.float64).reshape(-1, 2)


def arc(centre: tuple[float, float], radius: tuple[float, float], start: int, stop: int) -> Points:
    """Return part of an ellipse; angles in degrees, clockwise on the screen, 0 to the right."""
    angles = np.deg2rad(np.linspace(start, stop, max(8, abs(stop - start) // 8)))
    xy = np.stack([np.cos(angles) * radius[0], np.sin(angles) * radius[1]], axis=1)
    moved: Points = xy + np.array(centre)
    return moved


def bend(*xy: float) -> Points:
    """Return a quadratic Bezier curve with the given points: start, control, end."""
    start, control, end = line(*xy)
    t = np.linspace(0.0, 1.0, 12)[:, None]
    curve: Points = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return curve


def join(*parts: Points) -> Points:
    return np.concatenate(parts)


def _digits() -> dict[str, Glyph]:
    pen = 14.0
    top, bottom = arc((30, 30), (23, 23), 180, 360), arc((30, 70), (23, 23), 0, 180)
    tail = bend(39, 1, 11, 36, 7, 66)
    strokes = {
        "0": (join(top, bottom, top[:2]),),
        "2": (
            join(arc((30, 30), (23, 23), 170, 395), line(9, 90)),
            line(2, 93, 58, 93),
        ),
        "3": (join(line(5, 7, 48, 7, 29, 42), arc((30, 67), (23.5, 26), -85, 155)),),
        "4": (line(32, 0, 9, 68, 60, 68), line(44, 44, 44, 100)),
        "5": (join(line(54, 7, 14, 7, 11, 46), arc((30, 67), (23.5, 26), -120, 150)),),
        "6": (tail, arc((30, 69), (23.5, 24), 0, 372)),
        "7": (line(3, 7, 51, 7, 24, 100),),
        "8": (arc((30, 26), (19, 19), 0, 372), arc((30, 69), (23.5, 24), 0, 372)),
        "9": (60 - tail + line(0, 40), arc((30, 31), (23.5, 24), 0, 372)),
    }
    glyphs = {char: Glyph(60, pen, parts) for char, parts in strokes.items()}
    glyphs["1"] = Glyph(40, pen, (line(33, 0, 33, 100), line(4, 34, 32, 8)))
    return glyphs


def _letters() -> dict[str, Glyph]:
    pen = 17.0
    stem = line(8.5, 0, 8.5, 100)
    upper = join(line(8.5, 8.5, 38, 8.5), arc((38, 28.5), (21, 20), -90, 90), line(8.5, 48.5))
    lower = join(line(8.5, 48.5, 40, 48.5), arc((40, 70), (23, 21.5), -90, 90), line(8.5, 91.5))
    bowl = join(line(8.5, 8.5, 40, 8.5), arc((40, 33), (23.5, 24.5), -90, 90), line(8.5, 57.5))
    waist = join(arc((36, 29), (22, 20.5), -30, -270), arc((36, 70.5), (23, 21), -90, 150))
    cup = join(line(8.5, 0, 8.5, 62), arc((36, 63), (27.5, 28.5), 180, 0), line(63.5, 0))
    strokes = {
        "A": (76, (line(7, 103, 35, 0), line(69, 103, 41, 0), line(21, 70, 55, 70))),
        "B": (72, (stem, upper, lower)),
        "E": (66, (stem, line(8, 8.5, 64, 8.5), line(8, 48, 58, 48), line(8, 91.5, 65, 91.5))),
        "K": (74, (stem, line(65, -5, 10, 64), line(26, 42, 67, 105))),
        "M": (88, (stem, line(79.5, 0, 79.5, 100), line(9, 4, 44, 66, 79, 4))),
        "H": (74, (stem, line(65.5, 0, 65.5, 100), line(8, 50, 66, 50))),
        "O": (82, (arc((41, 50), (32.5, 41.5), 0, 368),)),
        "P": (72, (stem, bowl)),
        "C": (78, (arc((41, 50), (32.5, 41.5), 40, 320),)),
        "T": (74, (line(0, 8.5, 74, 8.5), line(37, 0, 37, 100))),
        "Y": (76, (line(5, -5, 38, 63), line(71, -5, 21, 105))),
        "X": (78, (line(6, -5, 72, 105), line(72, -5, 6, 105))),
        "R": (74, (stem, bowl, line(36, 57, 66, 105))),
        "U": (72, (cup,)),
        "S": (72, (waist,)),
    }
    strokes.update(_foreign_letters(stem))
    return {char: Glyph(width, pen, parts) for char, (width, parts) in strokes.items()}


def _foreign_letters(stem: Points) -> dict[str, tuple[int, tuple[Points, ...]]]:
    """Return widths and strokes of the letters that no Russian plate has."""
    belly = join(line(8.5, 8.5, 32, 8.5), arc((32, 50), (32.5, 41.5), -90, 90), line(8.5, 91.5))
    ring = arc((41, 50), (32.5, 41.5), 0, 368)
    mouth = join(line(46, 55, 70, 55, 70, 70), arc((41, 50), (32.5, 41.5), 42, 318))
    hook = join(line(50.5, 0, 50.5, 66), arc((28.5, 66), (22, 25.5), 0, 165))
    return {
        "D": (74, (stem, belly)),
        "F": (64, (stem, line(8, 8.5, 63, 8.5), line(8, 50, 56, 50))),
        "G": (82, (mouth,)),
        "I": (26, (line(13, 0, 13, 100),)),
        "J": (60, (hook,)),
        "L": (64, (stem, line(8, 91.5, 63, 91.5))),
        "N": (76, (stem, line(67.5, 0, 67.5, 100), line(8, -5, 68, 105))),
        "Q": (82, (ring, line(46, 62, 76, 106))),
        "V": (76, (line(6, -3, 37, 103), line(70, -3, 39, 103))),
        "W": (102, (line(7, -3, 28, 100), line(51, 0, 28, 100),
                    line(51, 0, 74, 100), line(95, -3, 74, 100))),
        "Z": (70, (line(2, 8.5, 58, 8.5, 12, 91.5, 68, 91.5),)),
    }  # fmt: skip


GLYPHS = {**_digits(), **_letters()}
"""Glyphs of ten digits and 26 letters, by character."""


def outline(stroke: Points, pen: float) -> Points:
    """Return one polygon for each segment of a centre line, with square ends and mitred corners.

    Args:
        stroke: (N, 2) centre line, N >= 2.
        pen: Width of the stroke, in the units of the stroke.

    Returns:
        (M, 4, 2) corners of the quadrilaterals, M < N; segments without length are left out.
    """
    moved = np.linalg.norm(np.diff(stroke, axis=0), axis=1) > 1e-6
    stroke = stroke[np.concatenate([[True], moved])]
    steps = np.diff(stroke, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    before, after = np.vstack([steps[:1], steps]), np.vstack([steps, steps[-1:]])
    along = before + after
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # A mitre grows with the turn; its length is limited to 2.
    reach = np.minimum(1.0 / np.maximum((along * after).sum(1, keepdims=True), 0.1), 2.0)
    aside = np.stack([-along[:, 1], along[:, 0]], axis=1) * reach * pen / 2
    left, right = stroke + aside, stroke - aside
    return np.stack([left[:-1], left[1:], right[1:], right[:-1]], axis=1)


@lru_cache(maxsize=512)
def glyph_mask(char: str, height_px: int, weight: float = 1.0) -> Mask:
    """Draw one character.

    Args:
        char: A key of `GLYPHS`.
        height_px: Height of the mask; the width follows.
        weight: Factor on the pen's width, for embossed (worn, thick or thin) paint.

    Returns:
        (height_px, W) uint8. Callers share the array, so it must not be changed.
    """
    glyph = GLYPHS[char]
    size_wh = (max(1, round(glyph.width * height_px / 100)), height_px)
    big = np.zeros((size_wh[1] * SUPERSAMPLING, size_wh[0] * SUPERSAMPLING), np.uint8)
    scale = np.array([big.shape[1] / glyph.width, big.shape[0] / 100])
    for stroke in glyph.strokes:
        for corners in np.round(outline(stroke, glyph.pen * weight) * scale * 16):
            cv2.fillConvexPoly(big, corners.astype(np.int32), (255,), cv2.LINE_8, 4)
    return cv2.resize(big, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8)
