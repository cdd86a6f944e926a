"""Films a road with a fixed camera: the same vehicles, light and weather in all frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Light, Quad
from workshop.rendering.cars import Car
from workshop.rendering.road.bodies import LENGTH, Layer, Stand, draw_body, outline_px
from workshop.rendering.road.roads import CAR_M, EDGE_PX
from workshop.rendering.road.surroundings import LANE_M, draw_surroundings
from workshop.rendering.road.traffic import Course, Road
from workshop.rendering.road.viewpoints import PLATE_M, PLATE_Z, Viewpoint, random_viewpoint
from workshop.rendering.road.weather import Lamp, night, rain, shine, slanted_line

Conditions = Literal["day", "night", "rain"]
READABLE_PX = 45.0
"""Smallest width of a plate that counts as readable, seen straight on."""
MAX_WIDTH_PX = 190.0
"""Greatest width of a plate at the near end of the road that is filmed."""
MIN_WAY_M, MAX_WAY_M = 6.0, 40.0
"""Smallest and greatest length of the part of a lane in which plates are readable."""
MIN_DISTANCE_M = 2.5
"""Faces of vehicles that are nearer to the camera than this are not drawn."""
MIN_LEVEL_PX = 60
"""Width of the smallest picture of a car's face that is kept for drawing."""


@dataclass(frozen=True)
class Vehicle:
    """A vehicle with its plate and its course.

    Attributes:
        text: Text of its plate.
        car: Its face with the plate, drawn once.
        course: Its way.
        slope: Shape of its body, see `Stand`.
    """

    text: str
    car: Car = field(repr=False)
    course: Course
    slope: tuple[float, float] = (0.3, 0.2)

    @cached_property
    def levels(self) -> tuple[Car, ...]:
        """The face in sizes that halve, the largest first: no warp shrinks it by more than 4."""
        levels = [self.car]
        while levels[-1].sprite.shape[1] >= 2 * MIN_LEVEL_PX:
            last = levels[-1]
            size = (last.sprite.shape[1] // 2, last.sprite.shape[0] // 2)
            small = cv2.resize(last.sprite, size, interpolation=cv2.INTER_AREA).astype(np.float32)
            scale = np.array(size) / last.sprite.shape[1::-1]
            levels.append(replace(last, sprite=small, plate=last.plate * scale))
        return tuple(levels)

    def face(self, width_px: float) -> Car:
        """Return the smallest picture of the face that is twice as wide as needed."""
        fitting = [level for level in self.levels if level.sprite.shape[1] >= 2 * width_px]
        return fitting[-1] if fitting else self.car


@dataclass(frozen=True)
class SeenPlate:
    """A plate in a frame.

    Attributes:
        vehicle: Index of its vehicle.
        quad: Its corners, (4, 2) pixels.
        is_readable: True if it is whole in the picture, large enough, and nothing hides it.
    """

    vehicle: int
    quad: Quad
    is_readable: bool


@dataclass(frozen=True)
class Shot:
    """A fixed camera, its vehicles and its conditions.

    Attributes:
        view: The camera.
        vehicles: Vehicles with their courses.
        conditions: Light and weather.
        exposure_s: Exposure of a frame: the length of the motion blur.
        seed: Seed of everything that stays the same in all frames.
    """

    view: Viewpoint
    vehicles: Sequence[Vehicle]
    conditions: Conditions
    exposure_s: float
    seed: int

    def film(self, times_s: Sequence[float]) -> Iterator[tuple[Bgr, list[SeenPlate]]]:
        """Yield the frame and the plates at each time."""
        rng = np.random.default_rng(self.seed)
        empty = draw_surroundings(rng, self.view)
        noise = _noise(rng, self.view.size_wh, 6.0 if self.conditions == "night" else 2.5)
        streaks = rain(rng, np.zeros_like(empty)) if self.conditions == "rain" else None
        for time_s in times_s:
            light = empty.copy()
            vehicles = self._draw_vehicles(light, time_s)
            quads = [quad for _, quad, _ in vehicles]
            light = self._illuminate(
                light, quads, [lamp for *_, lamps in vehicles for lamp in lamps]
            )
            if streaks is not None:
                light = 0.85 * light + 0.12 * light.mean() + _shifted(rng, streaks)
            frame: Bgr = (light + _shifted(rng, noise)).clip(0, 255).astype(np.uint8)
            yield frame, self._judge(time_s, [(index, quad) for index, quad, _ in vehicles])

    def _stands(self, time_s: float) -> list[tuple[int, Stand]]:
        """Return the vehicles in front of the camera, the farthest first."""
        stands = []
        for index, vehicle in enumerate(self.vehicles):
            place = vehicle.course.place(time_s)
            if place and place[1] - self.view.place[1] >= MIN_DISTANCE_M:
                stands.append((index, Stand(place, 0.0, CAR_M, vehicle.slope)))
        return sorted(stands, key=lambda item: -item[1].place[1])

    def _draw_vehicles(self, light: Light, time_s: float) -> list[tuple[int, Quad, list[Lamp]]]:
        vehicles = []
        for index, stand in self._stands(time_s):
            if not _is_in_picture(self.view, stand):
                continue
            width_px = self.view.focal_px * CAR_M / (stand.place[1] - self.view.place[1])
            car = self.vehicles[index].face(width_px)
            layer, quad = draw_body(self.view, stand, car)
            self._smear(layer, stand, time_s, index)
            layer.over(light)
            vehicles.append((index, quad, _lamps(self.view, stand, car)))
        return vehicles

    def _smear(self, layer: Layer, stand: Stand, time_s: float, index: int) -> None:
        """Add the motion blur of one exposure to a vehicle."""
        before = self.vehicles[index].course.place(time_s - self.exposure_s)
        if before is None:
            return
        ends = [(*place, PLATE_Z) for place in (before, stand.place)]
        first, last = self.view.project(np.array(ends))
        length = min(12, round(float(np.linalg.norm(last - first))))
        if length >= 2:
            angle = float(np.rad2deg(np.arctan2(*(last - first)[::-1])))
            kernel = slanted_line(length, angle)
            layer.light = cv2.filter2D(layer.light, -1, kernel).astype(np.float32)

    def _illuminate(self, light: Light, quads: list[Quad], lamps: list[Lamp]) -> Light:
        """Apply the light of the hour; the same seed gives the same lamps in all frames."""
        rng = np.random.default_rng(self.seed)
        if self.conditions == "night":
            return shine(rng, night(rng, light, quads), lamps)
        gain, offset = rng.uniform(0.7, 1.05), rng.uniform(0, 12)
        soft = cv2.GaussianBlur(light, (0, 0), float(rng.uniform(0.3, 0.8)))
        return (soft * np.float32(gain) + np.float32(offset)).astype(np.float32)

    def _judge(self, time_s: float, vehicles: list[tuple[int, Quad]]) -> list[SeenPlate]:
        """Tell which plates are readable; the drawn ones come the farthest first."""
        stands = dict(self._stands(time_s))
        plates = []
        for position, (index, quad) in enumerate(vehicles):
            nearer = [outline_px(self.view, stands[other]) for other, _ in vehicles[position + 1 :]]
            hulls = [cv2.convexHull(outline.astype(np.float32)) for outline in nearer]
            hidden = any(
                cv2.pointPolygonTest(hull, (float(x), float(y)), False) >= 0
                for hull in hulls
                for x, y in quad
            )
            plates.append(SeenPlate(index, quad, not hidden and is_legible(self.view, quad)))
        return plates


def is_legible(view: Viewpoint, quad: Quad) -> bool:
    """Tell whether a plate's corners are inside the picture, and far enough apart."""
    inside = (quad > EDGE_PX).all() and (quad < np.array(view.size_wh) - EDGE_PX).all()
    return bool(inside and np.linalg.norm(quad[1] - quad[0]) >= READABLE_PX)


def set_up(
    rng: np.random.Generator, size_wh: tuple[int, int], lanes: int
) -> tuple[Viewpoint, Road]:
    """Draw a camera without distortion, nearly level, that can read plates in some lanes.

    Args:
        rng: Source of all randomness.
        size_wh: Size of the picture, pixels.
        lanes: Least number of lanes beside each other, 1 or 2.
    """
    while True:
        view = random_viewpoint(rng, size_wh)
        pan, tilt, roll = view.turn_deg
        view = replace(view, barrel=0.0, turn_deg=(pan, tilt, float(np.clip(roll, -8, 8))))
        ways = {lane: way for lane in (-1, 0, 1) if (way := _readable_way(view, lane))}
        if len(ways) >= lanes and 0 in ways:
            near, far = min(way[0] for way in ways.values()), max(way[1] for way in ways.values())
            return view, Road(near, far, tuple(ways))


def _readable_way(view: Viewpoint, lane: int) -> tuple[float, float] | None:
    """Return the least and greatest y at which plates in a lane are readable; None if too short."""
    half = PLATE_M / 2
    corners = np.array([[-half, 0.56], [half, 0.56], [half, 0.44], [-half, 0.44]])
    ys = np.arange(view.place[1] + MIN_DISTANCE_M, MAX_WAY_M, 0.5)
    legible, widths = [], []
    for y in ys:
        world = np.stack([LANE_M * lane + corners[:, 0], np.full(4, y), corners[:, 1]], axis=1)
        quad = view.project(world)
        legible.append(is_legible(view, quad))
        widths.append(float(np.linalg.norm(quad[1] - quad[0])))
    indices = np.flatnonzero(legible)
    if len(indices) * 0.5 < MIN_WAY_M or widths[indices[0]] > MAX_WIDTH_PX:
        return None
    return float(ys[indices[0]]), float(ys[indices[-1]])


def _is_in_picture(view: Viewpoint, stand: Stand) -> bool:
    """Tell whether at least a part of a vehicle is in the picture, and all in front of the lens."""
    depths = (stand.to_world([(0, 0, 0), (0, LENGTH, 0)]) - np.array(view.place)) @ view.axes[2]
    if depths.min() < 1:
        return False
    box = outline_px(view, stand)
    return bool(
        (box.max(axis=0) > 8).all() and (box.min(axis=0) < np.array(view.size_wh) - 8).all()
    )


def _lamps(view: Viewpoint, stand: Stand, car: Car) -> list[Lamp]:
    sides, colour = ((0.38, 0.37), (235, 245, 255)) if car.front else ((0.4, 0.41), (40, 40, 255))
    lit = view.project(stand.to_world([(side * sides[0], 0.0, sides[1]) for side in (-1, 1)]))
    width_px = view.focal_px * CAR_M / (stand.place[1] - view.place[1])
    radius = width_px * (0.035 if car.front else 0.02)
    return [(float(x), float(y), radius, colour) for x, y in lit]


def _noise(rng: np.random.Generator, size_wh: tuple[int, int], sigma: float) -> NDArray[np.float32]:
    """Return a field of a sensor's noise, (H, W, 1)."""
    scale = np.float32(sigma * rng.uniform(0.3, 1.0))
    return rng.standard_normal((*size_wh[::-1], 1), dtype=np.float32) * scale


def _shifted(rng: np.random.Generator, field_hw: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move a field of noise or rain by a random way, so that it differs from frame to frame."""
    by = [int(side) for side in rng.integers(0, field_hw.shape[:2])]
    return np.roll(field_hw, by, (0, 1))
