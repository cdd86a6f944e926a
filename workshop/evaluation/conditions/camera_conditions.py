"""Camera conditions of a scene: smaller, turned, seen from the side, dark, compressed, smeared.

Each condition changes a picture and returns the affine map of its pixels. So labels do not move:
points of an answer are mapped back to the labelled picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.imaging.files import Bgr
from workshop.evaluation.datasets import Point

Affine = npt.NDArray[np.float64]
"""A map [2, 3] from pixels of the labelled picture to those of the changed one."""

GREY = (110, 110, 110)
FRAME_WH = (1920, 1080)
FRAME_XY = (700, 400)
"""The position of the picture's top left corner in the frame, for a far car."""
FORESHORTENED = 0.7
"""The part of the width that remains in a view from the side."""
NIGHT_GAMMA, NIGHT_GAIN, NIGHT_NOISE = 2.2, 0.35, 8.0
"""Parameters of the night; the noise is a standard deviation in grey levels."""


@dataclass(frozen=True)
class View:
    """A changed picture, and the map to its pixels from the labelled picture.

    Attributes:
        bgr: The changed picture, (H, W, 3) uint8.
        affine: The map from pixels of the labelled picture to its pixels.
    """

    bgr: Bgr
    affine: Affine

    def to_source(self, point: Point) -> Point:
        """Map a point from pixels of this picture to pixels of the labelled picture."""
        x, y = cv2.invertAffineTransform(self.affine) @ (*point, 1.0)
        return float(x), float(y)


@dataclass(frozen=True)
class Condition:
    """A condition under which a camera sees a scene.

    Attributes:
        change: Takes a picture and the strength, and returns the view.
        strength: The strength: a factor, degrees, pixels or a quality.
    """

    name: str
    change: Callable[[Bgr, float], View]
    strength: float = 0.0

    def view(self, bgr: Bgr) -> View:
        """Return the view of a picture under this condition; the picture itself is not changed."""
        return self.change(bgr, self.strength)


def resize(bgr: Bgr, factor: float) -> View:
    """Scale a picture down by a factor, with area interpolation."""
    small = cv2.resize(bgr, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    return View(_picture(small), _scaling(factor, factor))


def place_in_frame(bgr: Bgr, factor: float) -> View:
    """Scale a picture down and put it into a grey frame; parts that do not fit are cut off."""
    small = resize(bgr, factor)
    (left, top), (width, height) = FRAME_XY, FRAME_WH
    frame = np.full((height, width, 3), GREY, np.uint8)
    fits = small.bgr[: height - top, : width - left]
    frame[top : top + fits.shape[0], left : left + fits.shape[1]] = fits
    return View(frame, small.affine + np.array([[0, 0, left], [0, 0, top]]))


def rotate(bgr: Bgr, degrees: float) -> View:
    """Turn a picture, anticlockwise if positive, on a grey background that holds all of it."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return _warp(bgr, np.array([[cosine, sine], [-sine, cosine]]))


def shear(bgr: Bgr, degrees: float) -> View:
    """Make a picture narrower and slope its rows by an angle, as seen from beside the lane."""
    fall = math.tan(math.radians(degrees))
    return _warp(bgr, np.array([[FORESHORTENED, 0], [FORESHORTENED * fall, 1]]))


def darken(bgr: Bgr, _: float) -> View:
    """Darken a picture and add the noise of a sensor, always the same noise."""
    levels = 255 * NIGHT_GAIN * (np.arange(256) / 255) ** NIGHT_GAMMA
    dark = levels[bgr] + np.random.default_rng(0).normal(0, NIGHT_NOISE, bgr.shape)
    return View(dark.clip(0, 255).astype(np.uint8), _scaling(1, 1))


def compress(bgr: Bgr, quality: float) -> View:
    """Encode a picture as JPEG with a quality of 1 to 100, and decode it again."""
    _, jpeg = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, int(quality)])
    return View(_picture(cv2.imdecode(jpeg, cv2.IMREAD_COLOR)), _scaling(1, 1))


def smear(bgr: Bgr, length_px: float) -> View:
    """Blur a picture along its rows, as when the car moves during the exposure."""
    blurred = cv2.blur(bgr, (int(length_px), 1))
    return View(_picture(blurred), _scaling(1, 1))


def _keep(bgr: Bgr, _: float) -> View:
    return View(bgr, _scaling(1, 1))


def _warp(bgr: Bgr, linear: Affine) -> View:
    """Map a picture by a matrix [2, 2], centred on a grey background that holds all of it."""
    height, width = bgr.shape[:2]
    wide, high = (int(side) for side in abs(linear) @ (width, height))
    offset = np.array([wide, high]) / 2 - linear @ (width / 2, height / 2)
    affine = np.column_stack([linear, offset])
    return View(_picture(cv2.warpAffine(bgr, affine, (wide, high), borderValue=GREY)), affine)


def _scaling(x: float, y: float) -> Affine:
    return np.array([[x, 0.0, 0.0], [0.0, y, 0.0]])


def _picture(array: object) -> Bgr:
    return np.asarray(array, np.uint8)


AS_IT_IS = Condition("as it is", _keep)


def sized(factor: float) -> Condition:
    return Condition(f"{factor:g} of the size", resize, factor)


def far(factor: float) -> Condition:
    return Condition(f"far in 1080p, {factor:g}", place_in_frame, factor)


def turned(degrees: float) -> Condition:
    return Condition(f"turned {degrees:g} degrees", rotate, degrees)


def from_the_side(degrees: float) -> Condition:
    return Condition(f"from the side, {degrees:g} degrees", shear, degrees)


def smeared(length_px: float) -> Condition:
    return Condition(f"smeared {length_px:g} px", smear, length_px)


CONDITIONS = (
    AS_IT_IS,
    *map(sized, (0.5, 0.4, 0.33)),
    *map(far, (0.6, 0.4, 0.3)),
    *map(turned, (8, 15, -20)),
    *map(from_the_side, (15, -20)),
    Condition("night", darken),
    Condition("JPEG quality 15", compress, 15),
    *map(smeared, (9, 15)),
)
"""The conditions of the table; their mean is published."""

Sweep = Mapping[float, Condition]
"""Conditions of one kind by their strength, including the original picture."""

SIZES: Sweep = {1.0: AS_IT_IS} | {
    factor: sized(factor) for factor in (0.75, 0.5, 0.4, 0.33, 0.25, 0.2)
}
TURNS_DEG: Sweep = {0.0: AS_IT_IS} | {
    degrees: turned(degrees) for degrees in (-30.0, -20.0, -15.0, -8.0, 8.0, 15.0, 20.0, 30.0)
}
SMEARS_PX: Sweep = {0.0: AS_IT_IS} | {
    length: smeared(length) for length in (3.0, 6.0, 9.0, 12.0, 15.0, 21.0)
}
EVERY_CONDITION = tuple(
    dict.fromkeys([*CONDITIONS, *SIZES.values(), *TURNS_DEG.values(), *SMEARS_PX.values()])
)
"""All conditions of the table and of the curves, each once."""
