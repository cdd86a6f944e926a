"""Street pictures with cars that carry given plates, for samples, tests and the demo."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Light, Quad, cloud, compress
from workshop.rendering.cars import GROUND, HEIGHT, Car, Sprite, draw_car, with_plate
from workshop.rendering.country import Country, russia
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import fix_weight
from workshop.rendering.texts import plain

ROW_PITCH = 0.48
"""Distance of parked rows in car widths: a row hides the row behind it below the plates only."""


@dataclass(frozen=True)
class Scene:
    """A street picture with the places and texts of its plates.

    Attributes:
        picture: (H, W, 3) uint8 BGR.
        xyxy: (N, 4) float32 boxes round the plates, pixels.
        quads: (N, 4, 2) float32 corners, clockwise from top-left, pixels.
    """

    picture: Bgr
    xyxy: NDArray[np.float32]
    texts: tuple[str, ...]
    quads: NDArray[np.float32]


@dataclass(frozen=True)
class _Spot:
    """Place of a parked car: middle of its wheels on the ground, and its width, pixels."""

    x: float
    y: float
    width: float


def scene(
    texts: Sequence[str],
    size_wh: tuple[int, int] = (1280, 960),
    *,
    seed: int = 0,
    columns: int | None = None,
    country: Country | None = None,
    format_names: Sequence[str] = (),
) -> Scene:
    """Draw a street with one car for each text, parked in rows.

    Args:
        texts: Texts of the plates, each in a known format, with a `/` between two lines. An empty
            list gives an empty street.
        size_wh: Size of the picture, pixels.
        seed: The same seed gives the same picture.
        columns: Cars in a row; when None, the number that makes the plates widest.
        country: Country of the plates; Russia when None.
        format_names: Formats of the plates, since a text may fit several formats. When empty, the
            first format that fits each text.

    Raises:
        ValueError: A text has no known plate format.
        SettingsError: The country's renderer does not draw a plate.
    """
    country, rng = country or russia(), np.random.default_rng(seed)

    def mount(index: int, car: Car) -> Car:
        weight = float(np.round(rng.uniform(0.8, 1.0), 1))
        name = format_names[index] if format_names else None
        glyphs = fix_weight(glyph_mask, weight)
        return with_plate(car, country.plate_of(texts[index], format_name=name, glyphs=glyphs))

    street, quads = draw_parked(rng, len(texts), size_wh, mount, columns=columns)
    street += rng.normal(0, 2.2, street.shape).astype(np.float32)
    picture = compress(street.clip(0, 255).astype(np.uint8), 95)
    xyxy = np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1)
    return Scene(picture, xyxy, tuple(map(plain, texts)), quads)


def draw_parked(
    rng: np.random.Generator,
    count: int,
    size_wh: tuple[int, int],
    mount: Callable[[int, Car], Car],
    *,
    columns: int | None = None,
) -> tuple[Light, NDArray[np.float32]]:
    """Draw a street with cars parked in rows.

    Args:
        rng: Source of all randomness.
        count: Number of cars.
        size_wh: Size of the picture, pixels.
        mount: Returns the car of an index with what it carries at its place for plates.
        columns: Cars in a row; when None, the number that makes the plates widest.

    Returns:
        The street, and the corners of each car's place for plates, (count, 4, 2) pixels.
    """
    spots = _park(rng, count, size_wh, columns)
    skyline = min((spot.y - 0.62 * spot.width for spot in spots), default=size_wh[1] * 0.5)
    skyline = float(np.clip(skyline, 0.12 * size_wh[1], 0.6 * size_wh[1]))
    street = draw_backdrop(rng, size_wh, skyline)
    quads = np.zeros((count, 4, 2), np.float32)
    for index in sorted(range(count), key=lambda i: spots[i].y):
        front = False if spots[index].y < spots[-1].y - 1 else None  # a front plate would be hidden
        car = mount(index, draw_car(rng, 2 * round(spots[index].width), front))
        quads[index] = _place(rng, street, car, spots[index])
    return street, quads


def _park(
    rng: np.random.Generator, count: int, size_wh: tuple[int, int], columns: int | None
) -> list[_Spot]:
    """Distribute cars over rows; the back row comes first."""
    if not count:
        return []
    wide, high = size_wh
    choices = [columns] if columns else range(1, count + 1)
    widths = {
        column_count: _car_width(column_count, -(-count // column_count), size_wh)
        for column_count in choices
    }
    best = max(widths, key=lambda column_count: widths[column_count])
    width, rows = widths[best], -(-count // best)
    spots = []
    bottom = high - 0.04 * high - max(0.0, (high - width * (0.9 + ROW_PITCH * (rows - 1))) * 0.35)
    for index in range(count):
        row, column = divmod(index, best)
        in_row = min(best, count - row * best)
        cell = wide / in_row
        slack = max(0.0, cell - width * 1.06)
        x = cell * (column + 0.5) + rng.uniform(-0.35, 0.35) * slack
        y = bottom - (rows - 1 - row) * ROW_PITCH * width
        spots.append(_Spot(x, y, width * float(rng.uniform(0.985, 1.0))))
    return spots


def _car_width(columns: int, rows: int, size_wh: tuple[int, int]) -> float:
    """Return the greatest width of cars that fit, pixels; one car leaves room for the street."""
    across = size_wh[0] * (0.62 if columns == 1 else 0.97) / columns
    down = size_wh[1] * 0.985 / (0.75 + ROW_PITCH * (rows - 1))
    return min(across, down)


def _place(rng: np.random.Generator, street: Light, car: Car, spot: _Spot) -> Quad:
    """Draw a car into the street, turned a little; returns the corners of its plate."""
    sprite: Sprite = cv2.resize(
        car.sprite, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA
    ).astype(np.float32)
    high, wide = sprite.shape[:2]
    left, top = spot.x - wide / 2, spot.y - (HEIGHT - GROUND) / HEIGHT * high
    source = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    turn = float(rng.normal(0, 0.012)) * wide
    target = source + np.array([[0, turn], [0, -turn], [0, turn / 3], [0, -turn / 3]], np.float32)
    target += np.array([left, top], np.float32)
    matrix = cv2.getPerspectiveTransform(source, target.astype(np.float32))
    x0, y0 = max(0, int(left) - 2), max(0, int(top) - 9)
    part = street[y0 : y0 + high + 18, x0 : x0 + wide + 4]
    shift = np.array([[1, 0, -x0], [0, 1, -y0], [0, 0, 1]], np.float64)
    warped = cv2.warpPerspective(sprite, shift @ matrix, (part.shape[1], part.shape[0]))
    alpha = warped[:, :, 3:]
    part[:] = part * (1 - alpha) + warped[:, :, :3] * alpha
    corners = (car.plate / 2)[None].astype(np.float32)
    quad: Quad = cv2.perspectiveTransform(corners, matrix)[0].astype(np.float64)
    return quad


def draw_backdrop(rng: np.random.Generator, size_wh: tuple[int, int], skyline: float) -> Light:
    """Draw sky, houses, trees and asphalt without cars, (H, W, 3) float32.

    Args:
        rng: Source of all randomness.
        size_wh: Size of the picture, pixels.
        skyline: Row in which the asphalt begins, pixels.
    """
    wide, high = size_wh
    rows = np.linspace(0, 1, high, dtype=np.float32)[:, None, None]
    sky = np.array([225, 190, 150], np.float32) + rows * np.array([20, 45, 70], np.float32)
    street: Light = np.repeat(sky, wide, axis=1)
    street = street + (cloud(rng, (high, wide), 5)[:, :, None] - 0.5) * 30
    ground = int(skyline)
    x = -rng.uniform(0, 0.2) * wide
    while x < wide:
        x = _house(rng, street, x, ground)
    _trees(rng, street, ground)
    street[:ground] = cv2.GaussianBlur(street[:ground], (0, 0), wide / 900)
    below = rows[ground:] * 26 + 92
    asphalt = np.repeat(below, wide, axis=1) * np.array([1.0, 0.99, 0.97], np.float32)
    asphalt = asphalt + (cloud(rng, (high - ground, wide), 9)[:, :, None] - 0.5) * 22
    street[ground:] = asphalt + rng.normal(0, 5, (high - ground, wide, 1)).astype(np.float32)
    kerb = max(3, high // 110)
    street[ground : ground + kerb] = (150, 155, 158)
    street[ground + kerb : ground + 2 * kerb] *= 0.7
    return street


def _house(rng: np.random.Generator, street: Light, x: float, ground: int) -> float:
    """Draw one house with rows of windows; returns the left edge of the next one."""
    wide = street.shape[1]
    left, right = int(x), int(x + wide * rng.uniform(0.18, 0.4))
    top = int(ground * rng.uniform(0.0, 0.35))
    wall = np.array([125, 145, 165]) * rng.uniform(0.7, 1.2) + rng.uniform(-8, 8, 3)
    cv2.rectangle(street, (left, top), (right, ground), wall.tolist(), -1)
    pitch = max(12, wide // 34)
    glass = (wall * 0.45 + np.array([25, 18, 10])).tolist()
    for row in range(top + pitch // 2, ground - pitch, int(pitch * 1.4)):
        for column in range(left + pitch // 2, right - pitch // 2, pitch):
            corner = (column + pitch * 55 // 100, row + pitch * 85 // 100)
            cv2.rectangle(street, (column, row), corner, glass, -1)
            cv2.rectangle(street, (column, row), corner, (wall * 1.25).tolist(), 1)
    return right + wide * float(rng.choice([0.0, 0.02, 0.1]))


def _trees(rng: np.random.Generator, street: Light, ground: int) -> None:
    """Draw bushes and trees along the kerb."""
    wide = street.shape[1]
    for x in rng.uniform(0, wide, 7):
        green = np.array([40, 85, 60]) * rng.uniform(0.6, 1.1)
        size = wide * rng.uniform(0.03, 0.07)
        stem = (round(x), round(ground - size * rng.uniform(0.8, 2.2)))
        cv2.line(street, (round(x), ground), stem, (40, 50, 60), max(2, wide // 250))
        for _ in range(60):
            blob = np.array(stem) + rng.normal(0, size * 0.45, 2)
            shade = (green * rng.uniform(0.7, 1.35)).tolist()
            cv2.circle(street, np.round(blob).astype(int).tolist(), round(size / 5), shade, -1)
