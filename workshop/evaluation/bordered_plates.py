"""Rendered plates that are read right in four whole pictures, for looks across borders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.arrays import Array
from orchestrator.imaging.files import Bgr
from orchestrator.pipeline import Infer, recognize
from workshop.evaluation.yolo_labels import Box
from workshop.rendering.country import russia
from workshop.rendering.scenery import Scene, scene
from workshop.rendering.texts import fill, random_text

SEED = 4900
SIZES_WH = ((1280, 960), (800, 600), (1920, 1080))
LONG, TWO_LINES = "LDDDLLRRR", "ru_car_square"
"""One plate in three has the first layout, and one the second format. There, a region of three
digits that loses one still makes a valid plate."""
STARTS_PX = (0, 3, 7, 12)
"""First row and column of the looks at a whole plate. Of 60 plates that were read right, one or two
showed another text in a picture cut far from them: that is the reader's fault, and no border's."""


@dataclass(frozen=True)
class Drawn:
    """A rendered plate that is read right in its whole picture.

    Attributes:
        picture: (H, W, 3) uint8 BGR.
        text: Its text.
        xyxy: Its box as it was drawn.
        detected_xyxy: Its box as it was found.
    """

    picture: Bgr
    text: str
    xyxy: Box
    detected_xyxy: Box

    @property
    def size_wh(self) -> tuple[int, int]:
        return self.picture.shape[1], self.picture.shape[0]


def draw_plates(count: int, infer: Infer, seed: int = SEED) -> Iterator[Drawn]:
    """Draw plates of several sizes and kinds until so many are read right."""
    rngs = iter(np.random.default_rng(seed).spawn(4 * count))
    drawn = 0
    while drawn < count:
        street = _draw_street(next(rngs), drawn)
        xyxy, text = _box_of(street.xyxy[0]), street.texts[0]
        looks = [recognize(street.picture[start:, start:].copy(), infer) for start in STARTS_PX]
        boxes = [plate.xyxy for plate in looks[0] if plate.text == text and holds(xyxy, plate.xyxy)]
        if boxes and all(text in plates.texts for plates in looks):
            yield Drawn(street.picture, text, xyxy, boxes[0])
            drawn += 1


def _draw_street(rng: np.random.Generator, index: int) -> Scene:
    """Draw a street with one car, or with three; the first one's plate is looked at."""
    formats = russia().formats
    kinds = (
        lambda: (fill(rng, LONG, formats), "ru_car"),
        lambda: random_text(rng, formats, TWO_LINES),
        lambda: random_text(rng, formats),
    )
    cars = [kinds[index % 3](), *(kinds[0]() for _ in range(2 * (index % 2)))]
    texts, names = zip(*cars, strict=True)
    size_wh, seed = SIZES_WH[index // 2 % 3], int(rng.integers(1 << 31))
    return scene(texts, size_wh, seed=seed, columns=len(cars), format_names=names)


def holds(box: Box, other: Box) -> bool:
    """Tell whether the middle of another box lies in a box."""
    x, y = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _box_of(xyxy: Array) -> Box:
    x0, y0, x1, y1 = xyxy.tolist()
    return x0, y0, x1, y1
