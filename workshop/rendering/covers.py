"""Covers that hide the right end of a plate, and a data set of such plates, for `plates evaluate`.

A region of three digits that loses its last digit is another region: `A123BC186` becomes
`A123BC18`. Something hides 0 to 20 % of a plate at the right, or the picture ends there.

Example:
    python -m workshop.rendering.covers --out hidden --plates 320
    plates evaluate hidden --text-threshold 0.9
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Quad, cloud, random_colour
from workshop.rendering.commands import Command, at_least
from workshop.rendering.country import russia
from workshop.rendering.scenery import scene
from workshop.rendering.scenes import LabelledPicture, write_pictures
from workshop.rendering.texts import fill

MAX_SLANT = 0.03
"""Greatest slant of a cover's edge, as a share of the plate's width."""


class Cover(NamedTuple):
    """A kind of cover. All lengths are in widths or heights of the plate, from its own corner.

    Attributes:
        right: The least and greatest place of its right edge; 1 is the plate's end.
        top: The place of its upper edge; 0 is the plate's.
        bottom: The place of its lower edge; 1 is the plate's.
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
"""The kinds of covers, by name."""


def hide_right(
    rng: np.random.Generator, picture: Bgr, quad: Quad, share: float, cover: Cover
) -> Bgr:
    """Hide the right end of a plate.

    Args:
        rng: Source of all randomness.
        picture: (H, W, 3) uint8 BGR; it is not changed.
        quad: The plate's corners, clockwise from top-left, pixels.
        share: The share of the plate's width that is hidden.
        cover: What hides it.
    """
    slant, right = rng.uniform(-MAX_SLANT, MAX_SLANT), rng.uniform(*cover.right)
    left = 1 - share
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
    cv2.fillConvexPoly(
        mask, np.round((corners - low) * 16).astype(np.int32), (255,), cv2.LINE_AA, 4
    )
    alpha = mask[:, :, None] / 255
    blend = part * (1 - alpha) + _paint(rng, mask.shape, float(np.hypot(*down)), cover) * alpha
    part[:] = blend.round().clip(0, 255).astype(np.uint8)
    return hidden


def _paint(
    rng: np.random.Generator, size_hw: tuple[int, ...], height_px: float, cover: Cover
) -> Bgr:
    """Return the surface of a cover: its colour, with soft blobs and grain."""
    if cover.greys is None:
        colour = np.array(random_colour(rng), np.float32)
    else:
        colour = np.array(cover.tint, np.float32) * np.float32(rng.uniform(*cover.greys))
    blobs = cloud(rng, (size_hw[0], size_hw[1]), max(3, round(height_px)))[:, :, None] - 0.5
    grain = rng.normal(0, 2.5, (size_hw[0], size_hw[1], 1))
    surface: Bgr = colour + blobs * rng.uniform(10, 50) + grain
    return surface


SEED = 5300
LONG = "LDDDLLRRR"
"""The layout of a car's plate with a region of three digits."""
SIZES_WH = ((800, 600), (640, 480), (480, 360))
MAX_HIDDEN = 0.2
"""Greatest share of a plate's width that is hidden."""
EDGE = "picture's edge"
KINDS = (*COVERS, EDGE)


def draw_hidden(plates: int, seed: int = SEED) -> Iterator[LabelledPicture]:
    """Draw streets with one car, whose plate has a region of three digits, once with each cover.

    The cover stands in place of the plate's format. The same seed gives the same pictures.
    """
    for index, rng in enumerate(np.random.default_rng(seed).spawn(plates)):
        text = fill(rng, LONG, russia().formats)
        street = scene([text], SIZES_WH[index % len(SIZES_WH)], seed=int(rng.integers(1 << 31)))
        x0, y0, x1, y1 = street.xyxy[0].tolist()
        quad = street.quads[0].astype(np.float64)
        for kind in KINDS:
            picture = hide(rng, street.picture, quad, kind)
            yield LabelledPicture(picture, text, "std", (x0, y0, x1, y1), kind)


def hide(rng: np.random.Generator, picture: Bgr, quad: Quad, kind: str) -> Bgr:
    """Return the picture with the right end of a plate hidden, or cut off."""
    share = float(rng.uniform(0, MAX_HIDDEN))
    if kind != EDGE:
        return hide_right(rng, picture, quad, share, COVERS[kind])
    edge = (quad[0] + (1 - share) * (quad[1] - quad[0]))[0]
    return np.ascontiguousarray(picture[:, : max(1, round(float(edge)))])


def _act(options: Namespace) -> None:
    write_pictures(options.out, draw_hidden(options.plates, options.seed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a data set."""
    command = Command(
        "rendering.covers", "Plates whose right end is hidden.", seed=SEED, has_formats=False
    )
    command.add_argument("--out", type=Path, required=True, help="folder to write, new or empty")
    command.add_argument("--plates", type=at_least(1), default=320, help="each with five covers")
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
