"""Data set of close-ups: pictures that one plate fills, for `plates evaluate`.

The plate is 35 to 100 % as wide as its picture and turned by up to 35 degrees. Three in four
pictures are photos of 640x480 to 4000x3000 pixels, the others are tight crops of a plate.

Example:
    python -m workshop.rendering.close_ups --out close_ups
    plates evaluate close_ups
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import CAR_PLATE, Quad, View, warp
from workshop.rendering.cars import draw_car
from workshop.rendering.commands import Command, at_least
from workshop.rendering.country import Country, FlatPlate, country_of
from workshop.rendering.samples.photos import bumper
from workshop.rendering.scenery import draw_backdrop
from workshop.rendering.scenes import LabelledPicture, photograph_badly, write_pictures

SEED = 3500
"""Seed of the measured set. No training uses it."""
SHARES = (0.35, 1.0)
"""Smallest and greatest width of a plate's box, as a share of the picture's width."""
TIGHT_SHARES = (0.8, 1.0)
"""The same in tight crops, where it also holds for the height."""
MAX_ROTATION_DEG = 35.0
TILT_DEG = 8.0
"""Standard deviation of the plate's turn round its vertical and its horizontal axis."""
SIZES_WH = ((4000, 3000), (1200, 900), (640, 480))
TIGHT_WIDTHS_PX = (120, 1200)
"""Smallest and greatest width of a tight crop."""
TIGHT_EVERY = 4
"""Each so manieth picture is a tight crop."""
DRAWN_PX = 1200
"""Greatest width at which a picture is drawn. Larger ones are enlarged and blurred by it."""
CAR_PX = 1200
"""Width of the car behind a plate before it is fitted to the plate."""


def draw_close_ups(country: Country, count: int, seed: int = SEED) -> Iterator[LabelledPicture]:
    """Draw close-ups of random plates, whose regions are their boxes, from a seed."""
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        plate = country.random_plate(rng)
        turn_deg = float(rng.uniform(-MAX_ROTATION_DEG, MAX_ROTATION_DEG))
        yaw, pitch = rng.normal(0, TILT_DEG, 2).tolist()
        plate_quad = View(yaw, pitch, turn_deg, 1.0).quad(plate.proportion)
        place = _place_tightly if index % TIGHT_EVERY == TIGHT_EVERY - 1 else _place_in_photo
        quad, size_wh = place(rng, plate_quad)
        (x0, y0), (x1, y1) = quad.min(axis=0).tolist(), quad.max(axis=0).tolist()
        kind = "std" if plate.format == country.drawn_formats[0] else "other"
        picture = _draw(rng, plate, quad, size_wh)
        text = country.formats.shown(plate.text)
        yield LabelledPicture(picture, text, kind, (x0, y0, x1, y1), plate.format)


def _place_in_photo(rng: np.random.Generator, plate_quad: Quad) -> tuple[Quad, tuple[int, int]]:
    """Return a plate's corners in a photo, and the size of the photo."""
    wide, high = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    share, span = float(rng.uniform(*SHARES)), np.ptp(plate_quad, axis=0)
    if share * wide * span[1] / span[0] > high:  # so it is photographed upright
        wide, high = high, wide
    quad = (plate_quad - plate_quad.min(axis=0)) * share * wide / span[0]
    room = np.maximum((wide, high) - quad.max(axis=0), 0)
    return quad + rng.uniform(0, 1, 2) * room, (wide, high)


def _place_tightly(rng: np.random.Generator, plate_quad: Quad) -> tuple[Quad, tuple[int, int]]:
    """Return a plate's corners in a tight crop, and the size of the crop."""
    wide = round(float(np.exp(rng.uniform(*np.log(TIGHT_WIDTHS_PX)))))
    share = rng.uniform(*TIGHT_SHARES, 2)
    quad = (plate_quad - plate_quad.min(axis=0)) * share[0] * wide / np.ptp(plate_quad[:, 0])
    size_wh = np.array([wide, np.ceil(quad[:, 1].max() / share[1])])
    room = size_wh - quad.max(axis=0)
    return quad + rng.uniform(0, 1, 2) * room, (wide, int(size_wh[1]))


def _draw(rng: np.random.Generator, plate: FlatPlate, quad: Quad, size_wh: tuple[int, int]) -> Bgr:
    factor = min(1.0, DRAWN_PX / size_wh[0])
    drawn_wh = (round(size_wh[0] * factor), round(size_wh[1] * factor))
    behind = (_before_a_car if rng.random() < 0.5 else _on_a_bumper)(rng, drawn_wh, quad * factor)
    picture = photograph_badly(rng, warp(plate.picture, behind, quad * factor))
    if factor < 1:
        return cv2.resize(picture, size_wh, interpolation=cv2.INTER_CUBIC).astype(np.uint8)
    return picture


def _on_a_bumper(rng: np.random.Generator, size_wh: tuple[int, int], quad: Quad) -> Bgr:
    """Draw the paint behind a plate, with a dark holder round the plate."""
    behind = bumper(rng, size_wh[::-1])
    centre = quad.mean(axis=0)
    rim = centre + (quad - centre) * np.array([1.02, 1.06])
    cv2.fillConvexPoly(behind, np.round(rim).astype(np.int32), (28, 28, 30), cv2.LINE_AA)
    return behind


def _before_a_car(rng: np.random.Generator, size_wh: tuple[int, int], quad: Quad) -> Bgr:
    """Draw the car behind a plate, and the street behind the car."""
    street = draw_backdrop(rng, size_wh, size_wh[1] * float(rng.uniform(0.2, 0.6)))
    car = draw_car(rng, CAR_PX)
    corner, across, down = quad[0], quad[1] - quad[0], quad[3] - quad[0]
    long = max(1.0, CAR_PLATE * np.linalg.norm(down) / np.linalg.norm(across))
    middle = corner + across / 2  # a car's place is as wide as a long plate of this height
    target = np.stack([middle - across * long / 2, middle + across * long / 2, middle + down])
    source = np.stack([car.plate[0], car.plate[1], (car.plate[2] + car.plate[3]) / 2])
    matrix = cv2.getAffineTransform(source.astype(np.float32), target.astype(np.float32))
    car_layer = cv2.warpAffine(car.sprite, matrix, size_wh)
    alpha = car_layer[:, :, 3:]
    together = street * (1 - alpha) + car_layer[:, :, :3] * alpha
    return together.clip(0, 255).astype(np.uint8)


def _act(options: Namespace) -> None:
    country = country_of(options.formats)
    write_pictures(options.out, draw_close_ups(country, options.count, options.seed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a data set."""
    command = Command("rendering.close_ups", "Rendered pictures that one plate fills.", seed=SEED)
    command.add_argument("--out", type=Path, required=True, help="folder to write, new or empty")
    command.add_argument("--count", type=at_least(1), default=300)
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
