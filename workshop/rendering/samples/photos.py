"""Rendered photos of one plate on a bumper, before the plate is cut out."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import (
    CAR_PLATE,
    Quad,
    cloud,
    photograph,
    random_colour,
    random_view,
    shrink,
    soil,
    warp,
)
from workshop.rendering.country import Country, FlatPlate, russia
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import GlyphSource
from workshop.rendering.samples.troubles import add_trouble
from workshop.rendering.video import as_frame

FONT_SHARE = 0.35
"""Share of the plates that have the font's characters, when a font is given."""
WIDTHS_PX = (28.0, 300.0)
"""Smallest and greatest width of photographed plates of 520 x 112 mm, from far to near."""
LINE_PX = 112
"""Height of a line in a flat plate's picture before it is photographed; less saves time."""
HIDDEN_LEFT, HIDDEN_RIGHT = (0.02, 0.085), (0.935, 0.985)
"""Places of the edge of what hides a plate's end, as shares of the plate's width."""
BEYOND = 3.0
"""Size of what hides all beyond that edge, in widths or heights of the plate."""
FILMED = 0.06
"""Share of the plates that are frames of a video; each takes as long as two others."""


@dataclass(frozen=True)
class Photo:
    """A picture of a plate and its surroundings.

    Attributes:
        quad: Corners of the plate, clockwise from top-left, pixels.
        lines: Number of lines of the text, 1 or 2.
    """

    picture: Bgr
    quad: Quad
    text: str
    format: str
    lines: int = 1


def photograph_plate(
    rng: np.random.Generator,
    format_name: str | None = None,
    font: GlyphSource | None = None,
    *,
    country: Country | None = None,
    widths_px: tuple[float, float] = WIDTHS_PX,
    trouble: str | None = None,
) -> Photo:
    """Photograph one random plate on a bumper.

    Args:
        rng: Source of all randomness.
        format_name: Format of the plate; drawn by the formats' shares when None.
        font: Source of the characters of some of the plates.
        country: Country of the plate; Russia when None.
        widths_px: Least and greatest width of a plate of 520 x 112 mm.
        trouble: Only trouble of the photo; when None, that of a random camera.
    """
    glyphs = font if font is not None and rng.random() < FONT_SHARE else glyph_mask
    plate = (country or russia()).random_plate(rng, format_name, glyphs=glyphs)
    picture, quad = _put_on_bumper(rng, plate, widths_px)
    if trouble is not None:
        picture, quad = add_trouble(rng, picture, quad, trouble, plate.lines)
    else:
        picture = photograph(rng, picture)
        picture = as_frame(rng, picture) if rng.random() < FILMED else picture
    return Photo(picture, quad, plate.text, plate.format, plate.lines)


def _put_on_bumper(
    rng: np.random.Generator, flat: FlatPlate, widths_px: tuple[float, float]
) -> tuple[Bgr, Quad]:
    """Draw a plate on a bumper as an ideal camera sees it, and tell its corners."""
    factor = LINE_PX * flat.lines / flat.picture.shape[0]
    plate = shrink(flat.picture, factor) if factor < 1 else flat.picture
    if rng.random() < 0.6:
        plate = soil(rng, plate)
    # A line of text gets the height that it has on a car's plate of these widths.
    share = flat.proportion * flat.lines / CAR_PLATE
    view = random_view(rng, (widths_px[0] * share, widths_px[1] * share))
    quad = view.quad(flat.proportion)
    span = quad.max(axis=0) - quad.min(axis=0)
    margin = max(0.12 * span[0] + 0.45 * span[1], 0.8 * span[1]) + 2
    quad = quad - quad.min(axis=0) + margin
    size_wh = np.ceil(span + 2 * margin).astype(int)
    behind = bumper(rng, (int(size_wh[1]), int(size_wh[0])))
    _holder(rng, behind, quad)
    return warp(plate, behind, quad), quad


def hide_end(rng: np.random.Generator, photo: Photo) -> Bgr:
    """Hide one end of a plate up to its text, as a post does, or the edge of the camera's picture.

    Returns:
        (H, W, 3) uint8 BGR, a copy of the photo's picture.
    """
    corner, across = photo.quad[0], photo.quad[1] - photo.quad[0]
    down = photo.quad[3] - photo.quad[0]
    width = float(rng.uniform(0.05, 0.2)) if rng.random() < 0.5 else BEYOND
    is_left = rng.random() < 0.5
    edge = float(rng.uniform(*(HIDDEN_LEFT if is_left else HIDDEN_RIGHT)))
    near, far = corner + across * edge, corner + across * (edge + (-width if is_left else width))
    tall = BEYOND * down
    bar = np.array([near - tall, near + tall, far + tall, far - tall])
    hidden = photo.picture.copy()
    colour = random_colour(rng) if rng.random() < 0.6 else (int(rng.choice([0, 114, 255])),) * 3
    cv2.fillConvexPoly(hidden, np.round(bar * 16).astype(np.int32), colour, cv2.LINE_AA, 4)
    return hidden


def bumper(rng: np.random.Generator, size_hw: tuple[int, int]) -> Bgr:
    """Draw the background of a plate: paint with edges of panels and soft reflections."""
    behind = np.full((*size_hw, 3), random_colour(rng), np.float32)
    behind += (cloud(rng, size_hw, 4)[:, :, None] - 0.5) * rng.uniform(0, 120)
    for _ in range(rng.integers(0, 4)):
        row = int(rng.integers(0, size_hw[0]))
        tilt = int(rng.normal(0, 0.05 * size_hw[1]))
        width = int(rng.integers(1, 2 + size_hw[0] // 4))
        cv2.line(behind, (0, row), (size_hw[1], row + tilt), random_colour(rng), width)
    return behind.clip(0, 255).astype(np.uint8)


def _holder(rng: np.random.Generator, behind: Bgr, quad: Quad) -> None:
    """Paint the plate's holder: none, a plain one, or one with a dealer's name below."""
    if rng.random() < 0.35:
        return
    centre, height = quad.mean(axis=0), np.linalg.norm(quad[3] - quad[0])
    rim = rng.uniform(0.03, 0.1) * height
    outwards = np.sign(quad - centre) * rim
    colour = random_colour(rng) if rng.random() < 0.3 else (int(rng.integers(10, 60)),) * 3
    frame = quad + outwards
    if rng.random() < 0.55:  # more room at the bottom, for the name
        frame[2:] += (quad[2:] - quad[1::-1]) * rng.uniform(0.06, 0.2)
    cv2.fillConvexPoly(behind, np.round(frame * 16).astype(np.int32), colour, cv2.LINE_AA, 4)
    if height < 12:
        return
    ink = random_colour(rng)
    for x in np.arange(0.15, 0.8, rng.uniform(0.02, 0.05)):
        if rng.random() < 0.7:
            foot = np.round(quad[3] + (quad[2] - quad[3]) * x + (quad[3] - quad[0]) * 0.09)
            cv2.circle(behind, foot.astype(int).tolist(), max(1, int(height / 30)), ink, -1)
