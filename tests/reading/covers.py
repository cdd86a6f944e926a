"""Covers that hide the right end of a plate: a post, another car, dirt, snow."""

from collections.abc import Mapping
from typing import NamedTuple

import cv2
import numpy as np

from workshop.rendering.camera import cloud, random_colour

MAX_SLANT = 0.03
"""Greatest slant of a cover's edge, as a share of the plate's width."""


class Cover(NamedTuple):
    """A kind of cover, in widths or heights of the plate from its own corner.

    Attributes:
        right: The least and greatest place of its right edge; 1 is the plate's end.
        greys: The least and greatest grey level; None for any colour.
        tint: The share of blue, green and red in it.
    """

    right: tuple[float, float]
    top: float
    bottom: float
    greys: tuple[float, float] | None = None
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)


COVERS: Mapping[str, Cover] = {
    "post": Cover(right=(1.05, 1.4), top=-3.0, bottom=4.0),
    "car": Cover(right=(4.0, 4.0), top=-3.0, bottom=4.0),
    "dirt": Cover((1.0, 1.0), 0.0, 1.0, greys=(60.0, 170.0), tint=(0.75, 0.85, 1.0)),
    "snow": Cover((1.01, 1.01), -0.02, 1.02, greys=(170.0, 235.0)),
}


def hide_right(
    rng: np.random.Generator, picture: np.ndarray, quad: np.ndarray, share: float, cover: Cover
) -> np.ndarray:
    """Hide a share of a plate's width at its right end; the corners begin at the top left."""
    slant, right, left = rng.uniform(-MAX_SLANT, MAX_SLANT), rng.uniform(*cover.right), 1 - share
    places = (
        (left + slant, cover.top),
        (right + slant, cover.top),
        (right - slant, cover.bottom),
        (left - slant, cover.bottom),
    )
    across, down = quad[1] - quad[0], quad[3] - quad[0]
    corners = np.array([quad[0] + x * across + y * down for x, y in places])
    low = np.floor(corners.min(axis=0)).astype(int).clip(0)
    high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 2, picture.shape[1::-1])
    hidden = picture.copy()
    part = hidden[low[1] : high[1], low[0] : high[0]]
    mask = np.zeros(part.shape[:2], np.uint8)
    outline = np.round((corners - low) * 16).astype(np.int32)
    cv2.fillConvexPoly(mask, outline, (255,), cv2.LINE_AA, 4)
    alpha = mask[:, :, None] / 255
    painted = part * (1 - alpha) + paint(rng, mask.shape, float(np.hypot(*down)), cover) * alpha
    part[:] = painted.round().clip(0, 255).astype(np.uint8)
    return hidden


def paint(
    rng: np.random.Generator, size_hw: tuple[int, int], height_px: float, cover: Cover
) -> np.ndarray:
    """Return the surface of a cover: its colour, with soft blobs and grain."""
    if cover.greys is None:
        colour = np.array(random_colour(rng), np.float32)
    else:
        colour = np.array(cover.tint, np.float32) * np.float32(rng.uniform(*cover.greys))
    blobs = cloud(rng, size_hw, max(3, round(height_px)))[:, :, None] - 0.5
    grain = rng.normal(0, 2.5, (*size_hw, 1))
    return colour + blobs * rng.uniform(10, 50) + grain
