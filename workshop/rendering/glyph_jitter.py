"""Characters that differ from those of the training: thinner, thicker, aslant, narrow or wide."""

from __future__ import annotations

import cv2
import numpy as np

from workshop.rendering.glyphs import Mask, glyph_mask
from workshop.rendering.painting import GlyphSource

WEIGHTS = (0.55, 1.4)
"""Least and greatest factor on the strokes' width; plates of the training have 0.7 to 1.15."""
SHEAR, WIDTH, HEIGHT = 0.04, 0.05, 0.03
"""Standard deviations of a character's shear, and of the factors on its width and height."""


def jitter_glyphs(rng: np.random.Generator, glyphs: GlyphSource = glyph_mask) -> GlyphSource:
    """Return a source for one plate: its strokes have one weight, each character its own shape.

    Args:
        rng: Source of all randomness.
        glyphs: Source of the characters; one that ignores weights gets other shapes alone.
    """
    weight = float(np.round(rng.uniform(*WEIGHTS), 2))

    def mask(char: str, height_px: int, _: float) -> Mask:
        return _reshape(rng, glyphs(char, height_px, weight))

    return mask


def _reshape(rng: np.random.Generator, mask: Mask) -> Mask:
    """Shear and scale a character about its middle; the mask stays as high, its width may grow."""
    height, width = mask.shape
    shear = float(rng.normal(0, SHEAR))
    across, down = np.maximum(rng.normal(1, [WIDTH, HEIGHT]), 0.8).tolist()
    down = min(down, 1.0)  # there is no room above and below
    wide = max(1, round(width * across + abs(shear) * height))
    matrix = np.array([[across, shear, 0.0], [0.0, down, 0.0]])
    matrix[:, 2] = np.array([wide, height]) / 2 - matrix[:, :2] @ (np.array([width, height]) / 2)
    return cv2.warpAffine(mask, matrix, (wide, height), flags=cv2.INTER_LINEAR).astype(np.uint8)
