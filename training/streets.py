"""Rendered street pictures with their plates as a YOLO data set, mixed into detector training.

Photos hold one to three plates each, nearly all of them white; parked cars hold up to forty, of
every format of a country, and roads a few small ones, aslant, as cameras above gates and beside
lanes see them by any light and weather.

    python -m training.streets --out RENDERED --count 140 --seed 1
    plates train detector --extra RENDERED/images/train ...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from evaluation.yolo_labels import label_folder, write_labels
from rendering.commands import Command, at_least, share
from rendering.country import Country, country_of, russia
from rendering.roads import SIZES_WH as ROAD_SIZES_WH
from rendering.roads import road
from rendering.scenery import Scene, scene
from rendering.texts import random_text

PLATES = (1, 2, 3, 5, 8, 12, 20, 30, 40)
SHARES = (0.2, 0.15, 0.15, 0.12, 0.1, 0.1, 0.08, 0.05, 0.05)
"""Of the pictures, by number of plates."""
SIZES_WH = ((1280, 960), (1280, 720), (960, 960), (1920, 1080))
SIDE_PX = 1280
"""Longer side of the files."""
MOST_ON_A_ROAD = 6
"""Plates."""
ROADS = 0.5
"""Of the pictures."""


def draw_street(rng: np.random.Generator, country: Country | None = None) -> Scene:
    """Draw parked cars with a random number of random plates; Russian ones without a country."""
    country = country or russia()
    count = int(rng.choice(PLATES, p=SHARES))
    plates = [random_text(rng, country.formats) for _ in range(count)]
    texts, names = [text for text, _ in plates], [name for _, name in plates]
    size_wh = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    seed = int(rng.integers(2**31))
    return scene(texts, size_wh, seed=seed, country=country, format_names=names)


def draw_road(rng: np.random.Generator, country: Country | None = None) -> Scene:
    """Draw a road with one to six random plates; Russian ones without a country."""
    country = country or russia()
    count = int(rng.integers(1, MOST_ON_A_ROAD + 1))
    texts = [random_text(rng, country.formats)[0] for _ in range(count)]
    size_wh = ROAD_SIZES_WH[int(rng.integers(len(ROAD_SIZES_WH)))]
    return road(texts, size_wh, seed=int(rng.integers(2**31)), country=country)


def draw_streets(
    count: int, seed: int, country: Country | None = None, *, roads: float = ROADS
) -> Iterator[Scene]:
    """Draw `count` pictures, the same for the same seed; Russian ones without a country.

    Args:
        count: Of the pictures.
        seed: Each picture has its own generator from it.
        country: Of the plates.
        roads: Share of the pictures, 0 to 1; the others are parked cars.
    """
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        is_road = int((index + 1) * roads) > int(index * roads)
        yield (draw_road if is_road else draw_street)(rng, country)


def write_data(folder: Path, scenes: Iterable[Scene]) -> None:
    """Write pictures and their labels below `folder`."""
    images = folder / "images" / "train"
    labels = label_folder(images)
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    for index, drawn in enumerate(scenes):
        height, width = drawn.picture.shape[:2]
        scale = min(1.0, SIDE_PX / max(height, width))
        small = cv2.resize(drawn.picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(images / f"{index:04d}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, 92])
        write_labels(labels / f"{index:04d}.txt", drawn.xyxy.tolist(), (width, height))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a rendered data set."""
    command = Command("streets", "Rendered streets in YOLO format.", seed=1)
    command.prog = "training.streets"
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--count", type=at_least(1), default=140)
    command.add_argument(
        "--roads", type=share, default=ROADS, help="share of roads; the others are parked cars"
    )
    command.run(_act, arguments)


def _act(given: argparse.Namespace) -> None:
    country = country_of(given.formats)
    streets = draw_streets(given.count, given.seed, country, roads=given.roads)
    write_data(given.out, streets)


if __name__ == "__main__":
    main()
