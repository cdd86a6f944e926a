"""Makes plates hard to read in one way, and in no other: small, smeared or dark."""

from __future__ import annotations

import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import CAR_PLATE, Quad, compress, darken, shrink, smear

SMALL, SMEARED, DARK = TROUBLES = ("small", "smeared", "dark")
WIDTHS_PX = {SMALL: (27.0, 56.0), SMEARED: (60.0, 160.0), DARK: (50.0, 160.0)}
"""Least and greatest width of a car's long plate; plates that are smaller stay as they are."""
SMEARS = (0.03, 0.16)
"""Shortest and longest smear, as a share of that width."""
NOISE = (3.0, 11.0)
"""Least and greatest noise at night, in grey levels."""


def add_trouble(
    rng: np.random.Generator, picture: Bgr, quad: Quad, trouble: str, lines: int = 1
) -> tuple[Bgr, Quad]:
    """Make a plate in a clear photo small, smeared or dark; some photos are compressed then.

    Args:
        rng: Source of all randomness.
        picture: (H, W, 3) uint8 BGR; it is not changed.
        quad: Corners of the plate, clockwise from top-left, pixels.
        trouble: One of `TROUBLES`.
        lines: Number of lines of the plate; sizes are those of a long plate with as high lines.

    Returns:
        The picture, and the corners in it.
    """
    width_px = float(np.linalg.norm(quad[3] - quad[0])) / lines * CAR_PLATE
    wanted_px = float(np.exp(rng.uniform(*np.log(WIDTHS_PX[trouble]))))
    factor = min(1.0, wanted_px / max(width_px, 1.0))
    if factor < 1:
        picture, quad = shrink(picture, factor), quad * factor
    light = picture.astype(np.float32)
    if trouble == SMEARED:
        light = smear(rng, light, max(2, round(rng.uniform(*SMEARS) * factor * width_px)))
    elif trouble == DARK:
        light = darken(rng, light)
        light = light + rng.normal(0, rng.uniform(*NOISE), light.shape).astype(np.float32)
    photo: Bgr = light.clip(0, 255).astype(np.uint8)
    return compress(photo, int(rng.integers(30, 96))) if rng.random() < 0.4 else photo, quad
