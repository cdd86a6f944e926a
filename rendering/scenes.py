"""Rendered pictures of single plates as a data set of texts, for `plates evaluate`.

Every format with a share comes as often as any other: rare ones are measured, too.

Example:
    python -m rendering.scenes --formats my_country/formats.toml --count 300 --out scenes
    plates evaluate scenes --formats my_country/formats.toml
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.formats import RUSSIA
from orchestrator.picture_files import Bgr
from rendering.camera import compress
from rendering.country import Country, country_of
from rendering.scenery import scene
from rendering.texts import plain, random_text

SIZES_WH = ((640, 480), (800, 600), (1024, 768), (1280, 960))
"""Of the pictures; a plate in them is about 90 to 250 pixels wide."""
MARGIN = 0.15
"""Of a plate's height: room round it in its region."""
COLUMNS = ("image", "text", "type", "x0", "y0", "x1", "y1")


@dataclass(frozen=True)
class LabelledPicture:
    """A picture with one plate.

    Attributes:
        picture: (H, W, 3) uint8 BGR.
        text: What the plate says.
        type: `std` for the country's first format, `other` for the rest.
        region: Round the plate, xyxy pixels.
    """

    picture: Bgr
    text: str
    type: str
    region: tuple[float, float, float, float]


def draw_pictures(country: Country, count: int, seed: int) -> Iterator[LabelledPicture]:
    """Draw pictures, the formats in turn; the same ones for the same seed."""
    names = [one.name for one in country.formats.format if one.share]
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        name = names[index % len(names)]
        yield _draw(rng, country, name, "std" if name == names[0] else "other")


def _draw(rng: np.random.Generator, country: Country, name: str, kind: str) -> LabelledPicture:
    size_wh = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    text, _ = random_text(rng, country.formats, name)
    drawn = scene([text], size_wh, seed=int(rng.integers(2**31)), country=country)
    light = drawn.picture.astype(np.float32) * rng.uniform(0.45, 1.1) + rng.uniform(0, 25)
    light = cv2.GaussianBlur(light, (0, 0), rng.uniform(0.3, 1.4)).astype(np.float32)
    light += rng.normal(0, rng.uniform(0.5, 9), light.shape).astype(np.float32)
    picture = compress(light.clip(0, 255).astype(np.uint8), int(rng.integers(45, 96)))
    return LabelledPicture(picture, plain(text), kind, _region(drawn.xyxy[0], size_wh))


def _region(
    xyxy: NDArray[np.float32], size_wh: tuple[int, int]
) -> tuple[float, float, float, float]:
    """Return a plate's box with some room, within the picture."""
    x0, y0, x1, y1 = xyxy.tolist()
    room, (wide, high) = MARGIN * (y1 - y0), size_wh
    return max(0, x0 - room), max(0, y0 - room), min(wide, x1 + room), min(high, y1 + room)


def write_pictures(folder: Path, pictures: Iterator[LabelledPicture]) -> None:
    """Write `images/` and `labels.csv` into a folder."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for index, one in enumerate(pictures):
            name = f"{index:04d}.jpg"
            cv2.imwrite(str(images / name), one.picture, [cv2.IMWRITE_JPEG_QUALITY, 95])
            table.writerow([name, one.text, one.type, *(f"{side:.1f}" for side in one.region)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a data set."""
    parser = argparse.ArgumentParser(description="Rendered pictures of single plates.")
    parser.add_argument("--formats", type=Path, default=RUSSIA, help="the country's file")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    write_pictures(given.out, draw_pictures(country_of(given.formats), given.count, given.seed))


if __name__ == "__main__":
    main()
