"""Skew: the angle by which a plate is turned, found without reading it.

Along the lines of its text, a plate has rows full of edges and rows with hardly any. So edges are
added up along lines of many angles. At the right angle, neighbouring sums differ most.

Source: Postl 1986, "Detection of Linear Oblique Structures and Skew Scan in Digitized Documents".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, to_numpy
from orchestrator.reading.crops import resize_crop

ANGLES_DEG = np.arange(-40, 41, 2)
"""Angles that are tried; plates turned clockwise have positive ones."""
WIDE_PX, HIGHEST_PX = 96, 96
"""Width of the crop whose edges are added up, and its greatest height."""
STRONGEST = 90
"""Percentile of the edges above which all count alike: one bright edge is not a line of text."""
MIN_PX = 8
"""Shorter lines, at the corners of the crop, count as if they had this length."""
MAX_SKEW_DEG = 12.0
"""Greatest angle at which the width and height of a plate follow from its box."""
RATIOS = (1.32, 1.7)
"""Ratios of width to height of plates of two lines."""
MIN_CONTRAST = 2.5
"""Smallest contrast at the angle of a plate, divided by the median over all angles: of rendered
plates 99 % have more, of noise 1 %."""


def find_skew(crop: Array, size_wh: tuple[float, float]) -> float | None:
    """Return the angle, degrees, by which a plate is turned clockwise in its upright box.

    It is None if the crop has no lines of text at any angle.

    Args:
        crop: uint8 [h, w, 3] BGR, the box of a plate, of any resolution.
        size_wh: Size of the box in the picture, pixels.
    """
    high = min(max(round(WIDE_PX * size_wh[1] / size_wh[0]), 2), HIGHEST_PX)
    edges = _edges(to_numpy(resize_crop(crop, (WIDE_PX, high)))[0].mean(0))
    rows, columns = np.indices(edges.shape, np.float32)
    radians = np.deg2rad(ANGLES_DEG.astype(np.float32))[:, None]
    across = (rows - high / 2).ravel() * np.cos(radians)
    along = (columns - WIDE_PX / 2).ravel() * np.sin(radians)
    line_numbers = (across - along + WIDE_PX).astype(np.intp)
    contrasts = [_contrast(numbers, edges.ravel()) for numbers in line_numbers]
    best = int(np.argmax(contrasts))
    stands_out = contrasts[best] > MIN_CONTRAST * np.median(contrasts)
    return float(ANGLES_DEG[best]) if stands_out else None


def frames_inside(upright: Array, degrees: float) -> list[Array]:
    """Return the frames [2, 3] that a plate of two lines may have in its upright box.

    A small angle leaves one frame with the box's own width and height. At a large one these hardly
    tell the plate's shape, so each usual shape has a frame.

    Args:
        upright: The frame of the box, float32 [2, 3].
        degrees: The angle by which the plate is turned clockwise.
    """
    wide, high = float(upright[0, 0]), float(upright[1, 1])
    cosine, sine = math.cos(math.radians(degrees)), abs(math.sin(math.radians(degrees)))
    if abs(degrees) > MAX_SKEW_DEG:
        widths = [wide / (cosine + sine / ratio) for ratio in RATIOS]
        halves = [(width, width / ratio) for width, ratio in zip(widths, RATIOS, strict=True)]
    else:
        square = cosine**2 - sine**2
        width, height = wide * cosine - high * sine, high * cosine - wide * sine
        halves = [(max(width / square, wide / 2), max(height / square, high / 2))]
    return [_turn(upright, degrees, half) for half in halves]


def _turn(upright: Array, degrees: float, half: tuple[float, float]) -> Array:
    """Return the frame of a plate by its angle, and half its width and height."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turned = np.array([[cosine, -sine], [sine, cosine]], np.float32) * np.array(half, np.float32)
    return np.concatenate((turned, upright[:, 2:]), 1)


def _edges(grey: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the strength of the edges [H, W] of a grey crop [H, W]."""
    down, right = np.gradient(grey)
    strength: npt.NDArray[np.float32] = np.hypot(down, right)
    return strength.clip(0, np.percentile(strength, STRONGEST))


def _contrast(lines: npt.NDArray[np.intp], edges: npt.NDArray[np.float32]) -> float:
    """Return how much the mean edge of a line differs from that of the next line, over all lines.

    Args:
        lines: Number of the line of each pixel (N,).
        edges: Strength of the edge in each pixel (N,).
    """
    sums, counts = np.bincount(lines, edges), np.bincount(lines)
    return float((np.diff(sums / np.maximum(counts, MIN_PX)) ** 2).sum())
