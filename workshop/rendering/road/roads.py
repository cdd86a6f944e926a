"""Pictures of roads, seen from above a gate or beside the lane, in any light and weather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Light, Quad, compress
from workshop.rendering.cars import PLATE_WIDTH, Car, draw_car, with_plate
from workshop.rendering.country import Country, russia
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import fix_weight
from workshop.rendering.road.bodies import Layer, Stand, draw_body, outline_px
from workshop.rendering.road.surroundings import LANE_M, draw_surroundings
from workshop.rendering.road.viewpoints import PLATE_M, WIDTHS_PX, Viewpoint, random_viewpoint
from workshop.rendering.road.weather import (
    FALLING,
    Lamp,
    grain,
    infrared,
    night,
    rolling,
    shine,
    slanted_line,
)
from workshop.rendering.scenery import Scene
from workshop.rendering.texts import plain
from workshop.rendering.video import as_frame

SIZES_WH = ((960, 540), (1280, 720), (1280, 960), (1600, 900), (1920, 1080))
CAR_M = PLATE_M / PLATE_WIDTH
CAR_LENGTH_M = 4.6
TRIES = 30
"""Number of random places that are tried for each further car."""
EDGE_PX = 6
"""Smallest distance between a plate and the picture's edge."""
HOURS, HOUR_SHARES = ("day", "night", "infrared"), (0.6, 0.22, 0.18)
VIDEO = 0.65
"""Share of the pictures that are frames of a video; the others are JPEG files."""
MAX_SMEAR_PX = 10


Mount = Callable[[np.random.Generator, Car], Car]
"""Function that returns a car with what it carries at its place for plates."""
Decorate = Callable[[Light], object]
"""Function that draws things over a road."""


@dataclass(frozen=True)
class _Standing:
    """A car as drawn, before the lens distorts the picture."""

    layer: Layer
    quad: Quad
    lamps: tuple[Lamp, ...]
    away: float


def road(
    texts: Sequence[str],
    size_wh: tuple[int, int] = (1280, 720),
    *,
    seed: int = 0,
    country: Country | None = None,
) -> Scene:
    """Draw a road with one car for each text, as long as there is room.

    The first car always has room. Its plate is 25 to 80 pixels wide if seen straight on.

    Args:
        texts: Texts of the plates, each in a known format, with a `/` between two lines. At least
            one.
        size_wh: Size of the picture, pixels.
        seed: The same seed gives the same picture.
        country: Country of the plates; Russia when None.

    Raises:
        ValueError: There is no text, or one has no known plate format.
        SettingsError: The country's renderer does not draw a plate.
    """
    if not texts:
        raise ValueError("texts: wanted at least one, got none")
    mounts = [_plate_mount(country or russia(), text) for text in texts]
    picture, quads = photograph_road(np.random.default_rng(seed), mounts, size_wh)
    xyxy = np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1)
    return Scene(picture, xyxy, tuple(map(plain, texts[: len(quads)])), quads)


def photograph_road(
    rng: np.random.Generator,
    mounts: Sequence[Mount],
    size_wh: tuple[int, int],
    decorate: Decorate = lambda _: None,
) -> tuple[Bgr, NDArray[np.float32]]:
    """Photograph a road with one car for each mount, as long as there is room.

    Args:
        rng: Source of all randomness.
        mounts: Functions that mount a plate or another thing on a car; at least one.
        size_wh: Size of the picture, pixels.
        decorate: Draws things over the road, before light, lens and recording.

    Returns:
        The picture, and the corners of each car's place for plates, (cars, 4, 2) pixels.
    """
    view, stands = _fill(rng, len(mounts), size_wh)
    carried = zip(stands, mounts, strict=False)  # there may be no room for the last cars
    cars = [_stand_up(rng, view, stand, mount) for stand, mount in carried]
    light = draw_surroundings(rng, view)
    for car in sorted(cars, key=lambda standing: -standing.away):
        car.layer.over(light)
    decorate(light)
    hour = str(rng.choice(HOURS, p=HOUR_SHARES))
    light = view.through_lens(_illuminate(rng, light, cars, hour))
    picture = _record(rng, light, is_grey=hour == "infrared")
    quads = view.bend(np.stack([car.quad for car in cars])).astype(np.float32)
    return picture, quads


def _plate_mount(country: Country, text: str) -> Mount:
    """Return a mount for a plate with a given text."""

    def mount(rng: np.random.Generator, car: Car) -> Car:
        weight = float(np.round(rng.uniform(0.8, 1.0), 1))
        return with_plate(car, country.plate_of(text, glyphs=fix_weight(glyph_mask, weight)))

    return mount


def _fill(
    rng: np.random.Generator, count: int, size_wh: tuple[int, int]
) -> tuple[Viewpoint, list[Stand]]:
    """Place a camera and up to `count` cars whose plates it sees."""
    while True:
        view = random_viewpoint(rng, size_wh)
        aslant = rng.uniform(-25, 25) if rng.random() < 0.2 else rng.normal(0, 3)
        first = _stand(rng, (0.0, 0.0), float(aslant))
        if _is_seen(view, first):
            break
    stands = [first]
    for _ in range(TRIES * (count - 1)):
        place = (LANE_M * rng.integers(-2, 3) + rng.normal(0, 0.3), rng.uniform(-15, 40))
        stand = _stand(rng, (float(place[0]), float(place[1])), float(rng.normal(0, 3)))
        if len(stands) < count and _is_seen(view, stand) and _has_room(view, stand, stands):
            stands.append(stand)
    return view, stands


def _stand(rng: np.random.Generator, place: tuple[float, float], heading_deg: float) -> Stand:
    """Return a car's stand; its cabin is above the face (a van's rear) or behind a bonnet."""
    slope = (float(rng.uniform(0.02, 0.6)), float(rng.uniform(0.05, 0.45)))
    return Stand(place, heading_deg, CAR_M, slope)


def _plate_px(view: Viewpoint, stand: Stand) -> Quad:
    """Return the corners of the area of a car's plate, (4, 2) pixels without distortion."""
    half = PLATE_WIDTH / 2
    corners = [(-half, 0.0, 0.5), (half, 0.0, 0.5), (half, 0.0, 0.17), (-half, 0.0, 0.17)]
    return view.project(stand.to_world(corners))


def _is_seen(view: Viewpoint, stand: Stand) -> bool:
    """Tell whether the plate is inside the picture, and neither too small nor too large."""
    if stand.place[1] - view.place[1] < 3.5:
        return False
    straight = _plate_px(view, stand)
    corners = view.bend(straight)
    width_px = np.linalg.norm(straight[1] - straight[0])
    inside = (corners > EDGE_PX).all() and (corners < np.array(view.size_wh) - EDGE_PX).all()
    return bool(inside and WIDTHS_PX[0] <= width_px < 1.5 * WIDTHS_PX[1])


def _has_room(view: Viewpoint, candidate: Stand, others: Sequence[Stand]) -> bool:
    """Tell whether a car overlaps no other car, and neither hides the other's plate."""
    for other in others:
        apart = np.abs(np.subtract(candidate.place, other.place))
        if apart[0] < 2.2 and apart[1] < CAR_LENGTH_M:
            return False
        near, far = sorted((candidate, other), key=lambda stand: stand.place[1])
        hull = cv2.convexHull(outline_px(view, near).astype(np.float32))
        hidden = [cv2.pointPolygonTest(hull, point, True) for point in _plate_px(view, far)]
        if max(hidden) > -4:
            return False
    return True


def _stand_up(rng: np.random.Generator, view: Viewpoint, stand: Stand, mount: Mount) -> _Standing:
    """Draw a car with what it carries, blurred by its motion."""
    ends = view.project(stand.to_world([(-0.5, 0, 0.3), (0.5, 0, 0.3)]))
    width_px = max(80, round(2 * float(np.linalg.norm(ends[1] - ends[0]))))
    car = mount(rng, draw_car(rng, width_px))
    layer, quad = draw_body(view, stand, car)
    layer = _smear(rng, view, stand, layer)
    sides, colour = ((0.38, 0.37), (235, 245, 255)) if car.front else ((0.4, 0.41), (40, 40, 255))
    lit = view.project(stand.to_world([(side * sides[0], 0.0, sides[1]) for side in (-1, 1)]))
    radius = float(np.linalg.norm(ends[1] - ends[0])) * (0.035 if car.front else 0.02)
    lamps = tuple((float(x), float(y), radius, colour) for x, y in lit)
    return _Standing(layer, quad, lamps, stand.place[1])


def _smear(rng: np.random.Generator, view: Viewpoint, stand: Stand, layer: Layer) -> Layer:
    """Add the car's motion blur at 0 to 20 m/s and exposures of 1/1000 to 1/80 s."""
    metres = rng.uniform(0, 20) * np.exp(rng.uniform(*np.log([1 / 1000, 1 / 80])))
    way = [(0.0, 0.0, 0.3), (0.0, -float(metres) / stand.width_m, 0.3)]
    first, last = view.project(stand.to_world(way))
    length = min(MAX_SMEAR_PX, round(float(np.linalg.norm(last - first))))
    if length < 2:
        return layer
    angle = float(np.rad2deg(np.arctan2(*(last - first)[::-1])))
    smeared = cv2.filter2D(layer.light, -1, slanted_line(length, angle))
    return replace(layer, light=smeared.astype(np.float32))


def _illuminate(
    rng: np.random.Generator, light: Light, cars: Sequence[_Standing], hour: str
) -> Light:
    """Light a road by day, by night or by infrared; add lamps, and rain, snow or fog."""
    quads = [car.quad for car in cars]
    if hour == "day":
        light = 255 * (light / 255).clip(0, 1) ** np.float32(np.exp(rng.normal(0, 0.25)))
        light = light * np.float32(rng.uniform(0.55, 1.15)) + np.float32(rng.uniform(0, 15))
    else:
        light = {"night": night, "infrared": infrared}[hour](rng, light, quads)
    lit = [lamp for car in cars for lamp in car.lamps if rng.random() < 0.8]
    if hour == "night" or (hour == "day" and rng.random() < 0.25):
        light = shine(rng, light, lit)
    if rng.random() < 0.35:
        light = FALLING[int(rng.integers(len(FALLING)))](rng, light)
    return light


def _record(rng: np.random.Generator, light: Light, *, is_grey: bool) -> Bgr:
    """Blur, sharpen and add noise, then encode as a video frame or a JPEG file."""
    if rng.random() < 0.6:
        light = cv2.GaussianBlur(light, (0, 0), rng.uniform(0.3, 1.0)).astype(np.float32)
    if rng.random() < 0.25:
        soft = cv2.GaussianBlur(light, (0, 0), 1.2).astype(np.float32)
        light = light + (light - soft) * np.float32(rng.uniform(0.4, 1.5))
    if rng.random() < 0.25:
        light = rolling(rng, light)
    light = grain(rng, light, float(rng.gamma(2.0, 2.0)))
    if is_grey:
        light = light.mean(axis=2, keepdims=True).repeat(3, axis=2)
    picture: Bgr = light.clip(0, 255).astype(np.uint8)
    if rng.random() < VIDEO:
        return as_frame(rng, picture)
    return compress(picture, int(rng.integers(35, 96)))
