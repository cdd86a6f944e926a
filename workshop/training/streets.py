"""Rendered street pictures as a YOLO data set, mixed into the training of the detector.

Photos have one to three plates each, nearly all of them white. Rendered pictures add other cases.
Parked cars show up to forty plates, of every format of a country. Roads show a few small, tilted
plates, as seen from above gates and beside lanes, in any light and weather. Near plates fill their
pictures.

    python -m workshop.training.streets --out RENDERED --count 140 --seed 1
    plates train detector --extra RENDERED/images/train ...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from workshop.evaluation.datasets import label_folder, write_labels
from workshop.rendering.commands import Command, at_least, share
from workshop.rendering.country import Country, country_of, russia
from workshop.rendering.road.roads import SIZES_WH as ROAD_SIZES_WH
from workshop.rendering.road.roads import road
from workshop.rendering.samples.photos import photograph_plate
from workshop.rendering.scenery import Scene, scene
from workshop.rendering.texts import random_text

PLATES = (1, 2, 3, 5, 8, 12, 20, 30, 40)
SHARES = (0.2, 0.15, 0.15, 0.12, 0.1, 0.1, 0.08, 0.05, 0.05)
"""Shares of the pictures with each number of `PLATES`."""
SIZES_WH = ((1280, 960), (1280, 720), (960, 960), (1920, 1080))
SIDE_PX = 1280
"""Greatest longer side of the written pictures."""
MAX_VEHICLES_PER_ROAD = 6
"""Greatest number of plates in a picture of a road."""
ROADS = 0.5
"""Default share of road pictures."""
NEAR_PX = (320.0, 700.0)
"""Smallest and greatest width of plates that fill their pictures."""


def draw_street(rng: np.random.Generator, country: Country | None = None) -> Scene:
    """Draw parked cars with a random number of random plates; Russian ones if country is None."""
    country = country or russia()
    count = int(rng.choice(PLATES, p=SHARES))
    plates = [random_text(rng, country.formats) for _ in range(count)]
    texts, names = [text for text, _ in plates], [name for _, name in plates]
    size_wh = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    seed = int(rng.integers(2**31))
    return scene(texts, size_wh, seed=seed, country=country, format_names=names)


def draw_road(rng: np.random.Generator, country: Country | None = None) -> Scene:
    """Draw a road with one to six random plates; Russian ones if country is None."""
    country = country or russia()
    count = int(rng.integers(1, MAX_VEHICLES_PER_ROAD + 1))
    texts = [random_text(rng, country.formats)[0] for _ in range(count)]
    size_wh = ROAD_SIZES_WH[int(rng.integers(len(ROAD_SIZES_WH)))]
    return road(texts, size_wh, seed=int(rng.integers(2**31)), country=country)


def draw_near(rng: np.random.Generator, country: Country | None = None) -> Scene:
    """Draw a random plate that fills most of its picture; a Russian one if country is None."""
    name = str(rng.choice((country or russia()).drawn_formats))
    photo = photograph_plate(rng, name, country=country, widths_px=NEAR_PX)
    box = np.concatenate([photo.quad.min(axis=0), photo.quad.max(axis=0)])
    xyxy, quads = box[None].astype(np.float32), photo.quad[None].astype(np.float32)
    return Scene(photo.picture, xyxy, (photo.text,), quads)


def draw_streets(
    count: int,
    seed: int,
    country: Country | None = None,
    *,
    roads: float = ROADS,
    near: float = 0.0,
) -> Iterator[Scene]:
    """Draw `count` pictures; the same seed gives the same pictures.

    Args:
        count: Number of pictures.
        seed: Seed of the generators; each picture has its own.
        country: Country of the plates; Russia when None.
        roads: Share of road pictures, 0 to 1; the others show parked cars.
        near: Share of pictures, 0 to 1, that show one near plate instead.
    """
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        if _is_due(index, near):
            yield draw_near(rng, country)
        else:
            yield (draw_road if _is_due(index, roads) else draw_street)(rng, country)


def _is_due(index: int, share: float) -> bool:
    """Tell whether a picture belongs to an evenly spread share of all pictures."""
    return int((index + 1) * share) > int(index * share)


def write_data(folder: Path, scenes: Iterable[Scene]) -> None:
    """Write pictures and their labels below `folder`."""
    images = folder / "images" / "train"
    labels = label_folder(images)
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    for index, street in enumerate(scenes):
        height, width = street.picture.shape[:2]
        scale = min(1.0, SIDE_PX / max(height, width))
        small = cv2.resize(street.picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(images / f"{index:04d}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, 92])
        write_labels(labels / f"{index:04d}.txt", street.xyxy.tolist(), (width, height))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a rendered data set."""
    command = Command("training.streets", "Rendered streets in YOLO format.", seed=1)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--count", type=at_least(1), default=140)
    command.add_argument(
        "--roads", type=share, default=ROADS, help="share of roads; the others are parked cars"
    )
    command.add_argument(
        "--near", type=share, default=0.0, help="share of single plates that fill their pictures"
    )
    command.run(_act, arguments)


def _act(options: argparse.Namespace) -> None:
    country = country_of(options.formats)
    streets = draw_streets(
        options.count, options.seed, country, roads=options.roads, near=options.near
    )
    write_data(options.out, streets)


if __name__ == "__main__":
    main()
