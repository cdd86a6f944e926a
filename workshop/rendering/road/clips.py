"""Clips of a road: H.264 files of a fixed camera that one vehicle passes by day.

Example:
    python -m workshop.rendering.road.clips --out clips --count 1 --seed 1
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Light
from workshop.rendering.cars import Car, draw_car, with_plate
from workshop.rendering.commands import Command, at_least
from workshop.rendering.country import Country, country_of
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import fix_weight
from workshop.rendering.road.bodies import LENGTH, Layer, Stand, draw_body, outline_px
from workshop.rendering.road.roads import CAR_M, EDGE_PX
from workshop.rendering.road.surroundings import draw_surroundings
from workshop.rendering.road.viewpoints import PLATE_M, PLATE_Z, Viewpoint, random_viewpoint
from workshop.rendering.road.weather import slanted_line
from workshop.rendering.texts import random_text
from workshop.rendering.video import CPU_INDEPENDENT, PRESETS

SIZE_WH = (1280, 720)
RATES = (2.0, 4.0, 5.0, 8.0, 12.5, 25.0)
RATE_SHARES = (0.2, 0.25, 0.2, 0.2, 0.1, 0.05)
"""Frames a second of the clips, and the shares of the clips."""
CRF = (24.0, 34.0)
"""Smallest and greatest constant rate factor: some 2 Mbit/s to 0.3 Mbit/s at 25 frames a second."""
FACE_PX = 900
"""Width of the drawn face of a car."""
EXPOSURES_S = (1 / 2000, 1 / 400)
SPEEDS_M_S = (2.0, 15.0)
"""Smallest and greatest speed: at a barrier, and in a street at 54 km/h."""
SWAY_M = 0.12
READABLE_PX, WIDEST_PX = 45.0, 190.0
"""Least width of a readable plate, and the greatest one at the near end of the road."""
MIN_WAY_M, MAX_WAY_M = 6.0, 40.0
"""Smallest and greatest length of the part of the lane in which plates are readable."""
NEAREST_M = 2.5
"""A face that is nearer to the camera than this is not drawn."""


@dataclass(frozen=True)
class Course:
    """Way of a vehicle at a constant speed, from one end of a lane to the other.

    Attributes:
        ends_m: Least and greatest y of its face.
        front: True if it comes towards the camera.
        x_m: Place in the lane.
        sway: Length and beginning of its sway, in metres and radians.
    """

    ends_m: tuple[float, float]
    speed_m_s: float
    front: bool
    x_m: float
    sway: tuple[float, float]

    @property
    def duration_s(self) -> float:
        return (self.ends_m[1] - self.ends_m[0]) / self.speed_m_s

    def place(self, time_s: float) -> tuple[float, float]:
        """Return x and y of the middle of its face, metres."""
        way = self.speed_m_s * time_s
        y = self.ends_m[1] - way if self.front else self.ends_m[0] + way
        return self.x_m + SWAY_M * float(np.sin(way / self.sway[0] + self.sway[1])), y


def draw_clip(file: Path, country: Country, seed: int) -> None:
    """Film one vehicle, and write the clip; the same seed gives the same clip."""
    rng = np.random.default_rng(seed)
    view, way = set_up(rng, SIZE_WH)
    course = _drive(rng, way)
    text, name = random_text(rng, country.formats, country.drawn[0])
    weight = float(np.round(rng.uniform(0.8, 1.0), 1))
    plate = country.plate_of(text, format_name=name, rng=rng, glyphs=fix_weight(glyph_mask, weight))
    car = with_plate(draw_car(rng, FACE_PX, course.front), plate)
    rate = float(rng.choice(RATES, p=RATE_SHARES))
    times = np.arange(float(rng.uniform(0, 1 / rate)), course.duration_s, 1 / rate).tolist()
    write_video(file, film(rng, view, car, course, times), rate, crf=float(rng.uniform(*CRF)))


def _drive(rng: np.random.Generator, way: tuple[float, float]) -> Course:
    speed = float(np.exp(rng.uniform(*np.log(SPEEDS_M_S))))
    ends = (way[0] - 5, way[1] + 6)
    sway = (float(rng.uniform(8, 20)), float(rng.uniform(0, 6)))
    return Course(ends, speed, bool(rng.random() < 0.5), float(rng.normal(0, 0.25)), sway)


def film(
    rng: np.random.Generator, view: Viewpoint, car: Car, course: Course, times_s: Sequence[float]
) -> Iterator[Bgr]:
    """Yield the frame at each time: the same car, road and light in all of them."""
    exposure_s = float(np.exp(rng.uniform(*np.log(EXPOSURES_S))))
    slope = (float(rng.uniform(0.02, 0.6)), float(rng.uniform(0.05, 0.45)))
    empty = draw_surroundings(rng, view)
    noise = rng.standard_normal((*SIZE_WH[::-1], 1), dtype=np.float32) * rng.uniform(0.8, 2.5)
    gain, offset, blur = rng.uniform((0.7, 0, 0.3), (1.05, 12, 0.8)).tolist()
    for time_s in times_s:
        light, stand = empty.copy(), Stand(course.place(time_s), 0.0, CAR_M, slope)
        if _is_in_picture(view, stand):
            before = course.place(time_s - exposure_s)
            _draw_vehicle(view, stand, car, before).over(light)
        light = cv2.GaussianBlur(light, (0, 0), blur) * gain + offset
        shift = rng.integers(0, noise.shape[:2]).tolist()
        frame: Bgr = (light + np.roll(noise, shift, (0, 1))).clip(0, 255).astype(np.uint8)
        yield frame


def _draw_vehicle(view: Viewpoint, stand: Stand, car: Car, before: tuple[float, float]) -> Layer:
    """Draw a vehicle, blurred by its motion from the place before."""
    width_px = view.focal_px * CAR_M / (stand.place[1] - view.place[1])
    layer, _ = draw_body(view, stand, _shrink(car, 2 * width_px))
    first, last = view.project(np.array([(*place, PLATE_Z) for place in (before, stand.place)]))
    length = min(12, round(float(np.linalg.norm(last - first))))
    if length >= 2:
        angle = float(np.rad2deg(np.arctan2(*(last - first)[::-1])))
        smeared = cv2.filter2D(layer.light, -1, slanted_line(length, angle))
        layer.light = smeared.astype(np.float32)
    return layer


def _shrink(car: Car, width_px: float) -> Car:
    """Return a car whose picture is not wider than needed, so that its warp makes no moiré."""
    if car.sprite.shape[1] <= width_px:
        return car
    factor = max(width_px, 60) / car.sprite.shape[1]
    sprite = cv2.resize(car.sprite, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    scale = np.array(sprite.shape[1::-1]) / car.sprite.shape[1::-1]
    return replace(car, sprite=sprite.astype(np.float32), plate=car.plate * scale)


def set_up(
    rng: np.random.Generator, size_wh: tuple[int, int]
) -> tuple[Viewpoint, tuple[float, float]]:
    """Draw a camera without distortion, nearly level, that can read plates in its lane.

    Returns:
        The camera, and the least and greatest y at which plates are readable.
    """
    while True:
        view = random_viewpoint(rng, size_wh)
        pan, tilt, roll = view.turn_deg
        view = replace(view, barrel=0.0, turn_deg=(pan, tilt, float(np.clip(roll, -8, 8))))
        if way := _readable_way(view):
            return view, way


def _readable_way(view: Viewpoint) -> tuple[float, float] | None:
    """Return the least and greatest y at which plates are readable; None if too short."""
    half = PLATE_M / 2
    corners = np.array([[-half, 0.56], [half, 0.56], [half, 0.44], [-half, 0.44]])
    ys = np.arange(view.place[1] + NEAREST_M, MAX_WAY_M, 0.5)
    quads = [
        view.project(np.stack([corners[:, 0], np.full(4, y), corners[:, 1]], axis=1)) for y in ys
    ]
    seen = np.flatnonzero([_is_legible(view, quad) for quad in quads])
    if len(seen) * 0.5 < MIN_WAY_M or _width_px(quads[seen[0]]) > WIDEST_PX:
        return None
    return float(ys[seen[0]]), float(ys[seen[-1]])


def _width_px(quad: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(quad[1] - quad[0]))


def _is_legible(view: Viewpoint, quad: NDArray[np.float64]) -> bool:
    """Tell whether a plate's corners are inside the picture, and far enough apart."""
    inside = (quad > EDGE_PX).all() and (quad < np.array(view.size_wh) - EDGE_PX).all()
    return bool(inside and _width_px(quad) >= READABLE_PX)


def _is_in_picture(view: Viewpoint, stand: Stand) -> bool:
    """Tell whether at least a part of a vehicle is in the picture, and all in front of the lens."""
    depths = (stand.to_world([(0, 0, 0), (0, LENGTH, 0)]) - np.array(view.place)) @ view.axes[2]
    if depths.min() < 1 or stand.place[1] - view.place[1] < NEAREST_M:
        return False
    box = outline_px(view, stand)
    return bool(
        (box.max(axis=0) > 8).all() and (box.min(axis=0) < np.array(view.size_wh) - 8).all()
    )


def write_video(file: Path, frames: Iterable[Light | Bgr], rate: float, *, crf: float) -> None:
    """Encode frames of `SIZE_WH` as H.264 of a constant rate factor, as a camera's chip does."""
    with av.open(str(file), "w") as to:
        stream = to.add_stream("libx264", rate=Fraction(rate).limit_denominator(100))
        stream.width, stream.height = SIZE_WH
        stream.pix_fmt, stream.thread_count = "yuv420p", 1
        stream.options = {"preset": PRESETS[1], "crf": f"{crf:.1f}", "x264-params": CPU_INDEPENDENT}
        for frame in frames:
            to.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
        to.mux(stream.encode(None))


def _write_all(options: Namespace) -> None:
    country = country_of(options.formats)
    options.out.mkdir(parents=True, exist_ok=True)
    for seed in range(1000 * options.seed, 1000 * options.seed + options.count):
        draw_clip(options.out / f"{seed:06d}.mp4", country, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write clips."""
    command = Command("rendering.road.clips", "Clips of a road that a vehicle passes.")
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    command.add_argument("--count", type=at_least(1), default=24)
    command.run(_write_all, arguments)


if __name__ == "__main__":
    main()
