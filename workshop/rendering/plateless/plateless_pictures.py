"""Rendered pictures without plates, full of things that look like plates.

Cars have nothing at their place for plates, or a board that is no plate. Signs, adverts and grilles
are on houses, on cars and beside the road, and cameras write date and time into some pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Light, Quad, View, compress, photograph, warp
from workshop.rendering.cars import Car, with_plate
from workshop.rendering.country import FlatPlate
from workshop.rendering.plateless.lettering import FONTS
from workshop.rendering.plateless.lookalikes import KINDS, caption, draw_lookalike
from workshop.rendering.road.roads import SIZES_WH as ROAD_SIZES_WH
from workshop.rendering.road.roads import photograph_road
from workshop.rendering.scenery import draw_parked
from workshop.rendering.scenes import SIZES_WH

ON_CARS = ("dealer board", "phone board", "other alphabet", "house number")
"""Kinds of boards at a car's place for plates."""
ON_CARS_SHARE = 0.5
"""Share of the cars with such a board; the others have an empty place."""
MAX_CARS = 5
THINGS = (1, 7)
"""Smallest number of things in a picture, and one more than the greatest."""
WIDTHS_PX = (40.0, 320.0)
"""Smallest and greatest width of a thing; that of plates in photos of cars."""
ROADS = 0.4
"""Share of pictures of roads, from cameras above or beside them; the others show parked cars."""
GOOD_CAMERAS = 0.5
"""Share of the pictures of parked cars without blur, noise or bad light."""
BLURRED_PX = 150.0
"""Width that limits the blur of the others: what is as wide stays readable."""
CAPTIONS = 0.35
"""Share of the pictures with date and time."""


def draw_plateless(count: int, seed: int) -> Iterator[Bgr]:
    """Draw pictures; the same seed gives the same pictures."""
    for rng in np.random.default_rng(seed).spawn(count):
        picture = (_draw_road if rng.random() < ROADS else _draw_parked)(rng)
        yield _write_caption(rng, picture) if rng.random() < CAPTIONS else picture


def _draw_parked(rng: np.random.Generator) -> Bgr:
    """Draw parked cars before houses."""
    size_wh = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    cars = int(rng.integers(0, MAX_CARS + 1))
    boards = [_board_of_car(rng) for _ in range(cars)]
    street, _ = draw_parked(rng, cars, size_wh, lambda index, car: _mount(car, boards[index]))
    _hang(rng, street)
    picture = street.clip(0, 255).astype(np.uint8)
    is_good = rng.random() < GOOD_CAMERAS
    return compress(picture, 90) if is_good else photograph(rng, picture, BLURRED_PX)


def _draw_road(rng: np.random.Generator) -> Bgr:
    """Draw cars on a road."""
    size_wh = ROAD_SIZES_WH[int(rng.integers(len(ROAD_SIZES_WH)))]
    boards = [_board_of_car(rng) for _ in range(int(rng.integers(1, MAX_CARS + 1)))]
    mounts = [_mount_of(board) for board in boards]
    picture, _ = photograph_road(rng, mounts, size_wh, lambda light: _hang(rng, light))
    return picture


def _board_of_car(rng: np.random.Generator) -> Bgr | None:
    return draw_lookalike(rng, str(rng.choice(ON_CARS))) if rng.random() < ON_CARS_SHARE else None


def _mount(car: Car, board: Bgr | None) -> Car:
    return car if board is None else with_plate(car, FlatPlate(board, "", ""))


def _mount_of(board: Bgr | None) -> Callable[[np.random.Generator, Car], Car]:
    return lambda _, car: _mount(car, board)


def _hang(rng: np.random.Generator, light: Light) -> None:
    """Draw random things into a picture."""
    for kind in rng.choice([*KINDS], int(rng.integers(*THINGS))).tolist():
        _paste(rng, light, draw_lookalike(rng, kind))


def _paste(rng: np.random.Generator, light: Light, thing: Bgr) -> None:
    """Draw a thing at a random place, seen a little from the side."""
    height, width = thing.shape[:2]
    yaw, pitch, roll = rng.normal(0, [20, 8, 3]).tolist()
    width_px = float(np.exp(rng.uniform(*np.log(WIDTHS_PX))))
    quad: Quad = View(yaw, pitch, roll, width_px).quad(width / height)
    room = np.array(light.shape[1::-1]) - np.ptp(quad, axis=0) - 4
    quad = quad - quad.min(axis=0) + 2 + rng.random(2) * np.maximum(room, 0)
    (x0, y0), (x1, y1) = (
        (quad.min(axis=0) - 2).astype(int),
        np.ceil(quad.max(axis=0) + 2).astype(int),
    )
    place = light[y0:y1, x0:x1]
    behind = place.clip(0, 255).astype(np.uint8)
    lit = (thing * rng.uniform(0.6, 1.0)).astype(np.uint8)
    place[:] = warp(lit, behind, quad - [x0, y0])


def _write_caption(rng: np.random.Generator, picture: Bgr) -> Bgr:
    """Write date and time into a corner, as a camera does before it encodes the picture."""
    picture, text = picture.copy(), caption(rng)
    high, wide = picture.shape[:2]
    font = FONTS[int(rng.integers(2))]
    scale, pen = wide / 1280 * float(rng.uniform(0.7, 1.8)), int(rng.integers(1, 4))
    (width, height), below = cv2.getTextSize(text, font, scale, pen)
    left = int(rng.choice([12, max(0, wide - width - 12)]))
    foot = int(rng.choice([height + 12, high - below - 8]))
    if rng.random() < 0.4:
        corner, opposite = (left - 4, foot - height - 4), (left + width + 4, foot + below + 4)
        cv2.rectangle(picture, corner, opposite, (0, 0, 0), -1)
    if rng.random() < 0.5:
        cv2.putText(picture, text, (left, foot), font, scale, (0, 0, 0), pen + 3, cv2.LINE_AA)
    cv2.putText(picture, text, (left, foot), font, scale, (250, 250, 250), pen, cv2.LINE_AA)
    return compress(picture, int(rng.integers(60, 96)))
