"""Skew: the angle by which a plate is turned, found without reading it.

Along the lines of its text, a plate has rows full of edges and rows with hardly any. So edges are
added up along lines of many angles. At the right angle, neighbouring sums differ most.

Source: Postl 1986, "Detection of Linear Oblique Structures and Skew Scan in Digitized Documents".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, floats_like, namespace, to_numpy
from orchestrator.reading.crops import resize_crop

ANGLES_DEG = np.arange(-40, 41, 2)
"""Angles that are tried; plates turned clockwise have positive ones."""
WIDE_PX, HIGHEST_PX = 96, 96
"""Width of the crop whose edges are added up, and its greatest height."""
STRONGEST = 90
"""Percentile of the edges above which all count alike: one bright edge is not a line of text."""
FEWEST_PX = 8
"""Shorter lines, at the corners of the crop, count as if they had this length."""
LEAST_CONTRAST = 2.5
"""Least contrast at the angle of a plate, divided by the median over all angles: of rendered plates
99 % have more, of noise 1 %."""


def find_skew(crop: Array, size_wh: tuple[float, float]) -> float:
    """Return the angle, degrees, by which a plate is turned clockwise in its upright box.

    It is 0 if the crop has no lines of text at any angle.

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
    lines = (across - along + WIDE_PX).astype(np.intp)
    contrast = [_contrast(line, edges.ravel()) for line in lines]
    best = int(np.argmax(contrast))
    stands_out = contrast[best] > LEAST_CONTRAST * np.median(contrast)
    return float(ANGLES_DEG[best]) if stands_out else 0.0


def turn_frame(upright: Array, degrees: float, ratio: float) -> Array:
    """Return the frame [2, 3] of a plate that is turned clockwise in the frame of its upright box.

    Args:
        upright: float32 [2, 3].
        degrees: The angle.
        ratio: The plate's width divided by its height.
    """
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    half = upright[0, 0] / (cosine + abs(sine) / ratio)
    turn = floats_like(upright, [[cosine, -sine / ratio], [sine, cosine / ratio]])
    return namespace(upright).concatenate((half * turn, upright[:, 2:]), 1)


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
    return float((np.diff(sums / np.maximum(counts, FEWEST_PX)) ** 2).sum())
