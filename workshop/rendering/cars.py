"""Cars seen from behind or from the front, drawn as rounded panels, with a place for the plate.

Coordinates are in car widths: x from -0.5 to 0.5, y upwards from the ground.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from workshop.rendering.camera import Quad, cloud
from workshop.rendering.country import FlatPlate
from workshop.rendering.painting import Colour

MARGIN = 0.08
"""Free room on either side of a car, in car widths."""
GROUND = 0.1
"""Room for the shadow below the wheels, in car widths."""
HEIGHT = 0.93
PLATE_WIDTH = 0.33
"""Width of a plate in car widths: a plate is 0.52 m wide, a small car 1.6 m."""

Sprite = NDArray[np.float32]
"""(H, W, 4) float32: BGR from 0 to 255, then alpha from 0 to 1."""
Outline = Sequence[tuple[float, float]]

GLASS, TYRE, PLASTIC, CHROME = (62, 52, 44), (24, 24, 26), (40, 40, 42), (200, 200, 205)
PAINTS: tuple[Colour, ...] = (
    (225, 226, 228), (150, 152, 155), (70, 72, 76), (30, 30, 34), (30, 28, 150), (120, 60, 30),
    (70, 90, 40), (95, 125, 150), (45, 55, 95), (160, 130, 90),
)  # fmt: skip


@dataclass(frozen=True)
class Car:
    """A drawn car without its plate.

    Attributes:
        sprite: The car and its shadow on a transparent ground.
        plate: Corners of the plate's place in sprite pixels, clockwise from top-left.
        front: True if the car is seen from the front.
    """

    sprite: Sprite
    plate: Quad
    paint: Colour
    front: bool


def mirror(outline: Outline) -> Outline:
    """Add the mirrored half to half an outline that runs from top centre to bottom centre."""
    return [*outline, *((-x, y) for x, y in reversed(outline))]


class _Canvas:
    def __init__(self, rng: np.random.Generator, width_px: int) -> None:
        size = (round(width_px * HEIGHT), round(width_px * (1 + 2 * MARGIN)))
        self.width_px = width_px
        self.sprite: Sprite = np.zeros((*size, 4), np.float32)
        self.gloss = cloud(rng, size, 3) * 0.12 + 0.94

    def to_px(self, outline: Outline) -> Quad:
        points = np.array(outline, np.float64) * self.width_px
        x = points[:, 0] + (0.5 + MARGIN) * self.width_px
        return np.stack([x, (HEIGHT - GROUND) * self.width_px - points[:, 1]], axis=1)

    def panel(
        self, outline: Outline, colour: Colour, *, lit: float = 0.2, rounding: float = 0.02
    ) -> None:
        """Paint a rounded panel, lighter at its top by `lit` and darker at the car's sides."""
        corners, blur_px = self.to_px(outline), max(0.8, rounding * self.width_px / 2)
        x0, y0 = np.maximum(corners.min(axis=0) - 3 * blur_px, 0).astype(int)
        x1, y1 = np.ceil(corners.max(axis=0) + 3 * blur_px).astype(int)
        place = self.sprite[y0:y1, x0:x1]
        mask = np.zeros(place.shape[:2], np.float32)
        inside = np.round((corners - [x0, y0]) * 16).astype(np.int32)
        cv2.fillPoly(mask, [inside], (1.0,), cv2.LINE_8, 4)
        soft = cv2.GaussianBlur(mask, (0, 0), blur_px)
        alpha = ((soft - 0.5) * max(1.5, blur_px * 0.8) + 0.5).clip(0, 1)
        rows = np.arange(y0, y0 + len(mask), dtype=np.float32)
        down = ((rows - corners[:, 1].min()) / np.ptp(corners[:, 1])).clip(0, 1)[:, None]
        columns = np.arange(x0, x0 + mask.shape[1], dtype=np.float32) / self.width_px
        side = 2 * np.abs(columns - 0.5 - MARGIN)[None]
        shade = (1 + lit * (0.5 - down)) * (1 - 0.28 * side**4) * self.gloss[y0:y1, x0:x1]
        _blend(place, np.array(colour, np.float32), shade, alpha)

    def both(self, outline: Outline, colour: Colour, **look: float) -> None:
        """Paint a panel on the right and its mirror image on the left."""
        self.panel(outline, colour, **look)
        self.panel([(-x, y) for x, y in outline], colour, **look)

    def shadow(self) -> None:
        """Paint a soft shadow under the car."""
        alpha = np.zeros(self.sprite.shape[:2], np.float32)
        centre = np.round(self.to_px([(0, 0.02)])[0]).astype(int).tolist()
        axes, blur_px = (
            [round(0.49 * self.width_px), round(0.04 * self.width_px)],
            0.018 * self.width_px,
        )
        cv2.ellipse(alpha, centre, axes, 0, 0, 360, (0.75,), -1)
        top = max(0, centre[1] - axes[1] - round(5 * blur_px))  # the blur reaches 4 of its widths
        self.sprite[top:, :, 3] = cv2.GaussianBlur(alpha[top:], (0, 0), blur_px)


def _blend(
    place: Sprite,
    colour: NDArray[np.float32],
    shade: NDArray[np.floating[Any]],
    alpha: NDArray[np.float32],
) -> None:
    """Paint a shaded colour over part of a sprite, where alpha (H, W) is more than 0."""
    rows, columns = (_span(alpha.any(axis=axis)) for axis in (1, 0))
    place, shade, alpha = place[rows, columns], shade[rows, columns], alpha[rows, columns]
    rest = 1 - alpha
    for channel, part in enumerate(colour):  # one plane after the other takes half the time
        plane = place[:, :, channel]
        plane[:] = plane * rest + (part * shade).clip(0, 255) * alpha
    np.maximum(place[:, :, 3], alpha, out=place[:, :, 3])


def _span(is_painted: NDArray[np.bool_]) -> slice:
    """Return the part of an axis from the first to the last painted place."""
    places = np.flatnonzero(is_painted)
    return slice(places[0], places[-1] + 1) if places.size else slice(0, 0)


def _box(x0: float, y0: float, x1: float, y1: float) -> Outline:
    return [(x0, y1), (x1, y1), (x1, y0), (x0, y0)]


def darken(colour: Colour, factor: float) -> Colour:
    blue, green, red = (int(part * factor) for part in colour)
    return blue, green, red


def draw_car(rng: np.random.Generator, width_px: int = 1000, front: bool | None = None) -> Car:
    """Draw a random car.

    Args:
        rng: Source of paint, shape and side.
        width_px: Width of the car without mirrors.
        front: True for the front, False for the rear; random when None.
    """
    paint = PAINTS[rng.integers(len(PAINTS))]
    seen_from_front = rng.random() < 0.4 if front is None else front
    canvas = _Canvas(rng, width_px)
    canvas.shadow()
    canvas.both(_box(0.33, 0.0, 0.465, 0.25), TYRE, lit=0.4, rounding=0.03)
    canvas.panel(_box(-0.42, 0.09, 0.42, 0.2), darken(TYRE, 0.7))
    roof = 0.76 + 0.05 * rng.random()
    _draw_cabin(canvas, paint, roof, seen_from_front)
    draw = _draw_front if seen_from_front else _draw_rear
    height = draw(canvas, rng, paint)
    half, tall = PLATE_WIDTH / 2, PLATE_WIDTH * 112 / 520
    canvas.panel(_box(-half - 0.008, height - 0.012, half + 0.008, height + tall + 0.008), TYRE)
    plate = [(-half, height + tall), (half, height + tall), (half, height), (-half, height)]
    return Car(canvas.sprite, canvas.to_px(plate), paint, seen_from_front)


def with_plate(car: Car, plate: FlatPlate) -> Car:
    """Draw a plate at the car's place for plates; the place fits plates of 520 x 112 mm."""
    place = _fit(car.plate, plate)
    width, height = (round(float(np.linalg.norm(place[i] - place[0]))) for i in (1, 3))
    small = cv2.resize(plate.picture, (width, height), interpolation=cv2.INTER_AREA)
    x, y = np.round(place[0]).astype(int)
    sprite = car.sprite.copy()
    sprite[y : y + small.shape[0], x : x + small.shape[1], :3] = small * np.float32(0.93)
    return replace(car, sprite=sprite, plate=place)


def _fit(place: Quad, plate: FlatPlate) -> Quad:
    """Return the corners of a plate of any proportion: in the place's middle, at its lower edge.

    A line of text is as high as the place, or lower if the plate were too wide otherwise.
    """
    width, height = place[1, 0] - place[0, 0], place[3, 1] - place[0, 1]
    if abs(plate.proportion * height / width - 1) < 0.01:
        return place
    high = min(height * plate.lines, width / plate.proportion)
    half, middle = high * plate.proportion / 2, place[:, 0].mean()
    (left, right), bottom = (middle - half, middle + half), place[3, 1]
    corners = [[left, bottom - high], [right, bottom - high], [right, bottom], [left, bottom]]
    return np.array(corners)


def _draw_cabin(canvas: _Canvas, paint: Colour, roof: float, front: bool) -> None:
    canvas.both(_box(0.46, 0.49, 0.55, 0.555), darken(paint, 0.8), rounding=0.04)
    shell = [(0.0, roof), (0.27, roof - 0.01), (0.345, roof - 0.06), (0.455, 0.47), (0.0, 0.44)]
    canvas.panel(mirror(shell), paint, lit=0.35, rounding=0.04)
    glass = [(0.0, roof - 0.045), (0.26, roof - 0.055), (0.305, roof - 0.1), (0.395, 0.53)]
    canvas.panel(mirror([*glass, (0.0, 0.51)]), GLASS, lit=1.1, rounding=0.03)
    gleam = [(-0.22, roof - 0.07), (-0.1, roof - 0.07), (-0.2, 0.54), (-0.33, 0.54)]
    canvas.panel(gleam, darken(GLASS, 1.45), lit=0.9)
    if front:
        canvas.both(_box(0.06, 0.54, 0.2, 0.6), darken(GLASS, 0.55), rounding=0.03)


def _draw_body(canvas: _Canvas, paint: Colour) -> None:
    body = [(0.0, 0.53), (0.4, 0.525), (0.475, 0.47), (0.5, 0.36), (0.495, 0.2), (0.47, 0.13)]
    canvas.panel(mirror([*body, (0.0, 0.12)]), paint, lit=0.45, rounding=0.04)
    canvas.panel(mirror([(0.0, 0.515), (0.38, 0.51), (0.0, 0.505)]), darken(paint, 1.25))


def _draw_rear(canvas: _Canvas, rng: np.random.Generator, paint: Colour) -> float:
    """Paint the rear; returns the height of the plate's lower edge."""
    _draw_body(canvas, paint)
    seam = darken(paint, 0.45)
    canvas.both(_box(0.372, 0.27, 0.376, 0.5), seam, rounding=0.002)
    canvas.panel(_box(-0.48, 0.262, 0.48, 0.267), seam, rounding=0.002)
    reach = 0.3 + 0.06 * rng.random()
    lamp = [(reach, 0.475), (0.465, 0.48), (0.492, 0.4), (0.48, 0.345), (reach + 0.04, 0.36)]
    canvas.both(lamp, (30, 20, 165), lit=0.5, rounding=0.02)
    canvas.both(_box(reach + 0.055, 0.372, reach + 0.1, 0.4), (225, 225, 235), rounding=0.01)
    canvas.both(_box(reach + 0.04, 0.425, 0.455, 0.455), (70, 60, 235), rounding=0.015)
    skirt = PLASTIC if rng.random() < 0.6 else darken(paint, 0.8)
    canvas.panel(mirror([(0.0, 0.19), (0.46, 0.19), (0.44, 0.1), (0.0, 0.1)]), skirt, lit=0.5)
    canvas.both(_box(0.34, 0.2, 0.44, 0.216), (40, 30, 170), rounding=0.008)
    canvas.panel(_box(0.22, 0.1, 0.28, 0.122), CHROME, lit=1.0, rounding=0.01)
    canvas.panel(_box(-0.025, 0.465, 0.025, 0.495), CHROME, lit=0.8, rounding=0.03)
    height = 0.33 + 0.01 * rng.random()
    canvas.panel(_box(-0.205, height - 0.03, 0.205, height + 0.11), darken(paint, 0.72), lit=-0.5)
    canvas.panel(_box(-0.185, height + 0.09, 0.185, height + 0.105), CHROME, lit=0.8, rounding=0.01)
    return height


def _draw_front(canvas: _Canvas, rng: np.random.Generator, paint: Colour) -> float:
    """Paint the front; returns the height of the plate's lower edge."""
    _draw_body(canvas, paint)
    canvas.both([(0.2, 0.515), (0.215, 0.515), (0.25, 0.4), (0.24, 0.4)], darken(paint, 0.75))
    lamp = [(0.26, 0.4), (0.46, 0.43), (0.487, 0.37), (0.46, 0.325), (0.28, 0.335)]
    canvas.both(lamp, (150, 150, 152), lit=0.8, rounding=0.02)
    canvas.both(_box(0.3, 0.345, 0.36, 0.39), (240, 242, 245), lit=0.3, rounding=0.04)
    canvas.both(_box(0.385, 0.345, 0.44, 0.395), (225, 232, 238), lit=0.3, rounding=0.04)
    canvas.panel(mirror([(0.0, 0.41), (0.24, 0.4), (0.22, 0.31), (0.0, 0.3)]), TYRE)
    for y in np.arange(0.315, 0.4, 0.02):
        canvas.panel(_box(-0.215, y, 0.215, y + 0.005), darken(CHROME, 0.7), rounding=0.003)
    canvas.panel(_box(-0.035, 0.335, 0.035, 0.385), CHROME, lit=0.9, rounding=0.05)
    canvas.panel(mirror([(0.0, 0.16), (0.3, 0.16), (0.26, 0.11), (0.0, 0.11)]), TYRE)
    canvas.both(_box(0.35, 0.14, 0.42, 0.2), PLASTIC, rounding=0.03)
    canvas.both(_box(0.365, 0.152, 0.405, 0.188), (215, 220, 225), rounding=0.03)
    return 0.185 + 0.015 * rng.random()
