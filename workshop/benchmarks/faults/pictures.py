"""Renders any number of different pictures, and of crops of plates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np

from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.files import Bgr
from workshop.benchmarks.pictures import Picture, encode
from workshop.rendering.scenery import Scene, scene
from workshop.rendering.texts import random_text

SIZE_WH = (800, 600)
SCENES = 12
"""The most scenes that are drawn, as one takes half a second; pictures are cut from them."""
PLATES = 3
SHIFT_PX = 48
STEP_PX = 3
"""The distance between two parts of the same scene."""
POSITIONS = SHIFT_PX // STEP_PX
WIDEST_PX = 16
"""The limit of the margins of a crop; they are smaller."""


def render_pictures(count: int) -> list[Picture]:
    """Draw a number of different pictures, the same ones every time."""
    return [
        encode(f"picture {number}", cut(draw_scene(number % SCENES).picture, number // SCENES))
        for number in range(count)
    ]


def render_crops(count: int) -> list[Picture]:
    """Draw a number of different crops of plates, the same ones every time."""
    return [
        encode(f"crop {number}", crop(draw_scene(number % SCENES), number // SCENES))
        for number in range(count)
    ]


def cut(larger: Bgr, place: int) -> Bgr:
    """Cut a picture of `SIZE_WH` from a larger one, at another place for each number."""
    left, top = (STEP_PX * step for step in divmod(place % POSITIONS**2, POSITIONS))
    width, height = SIZE_WH
    return larger[top : top + height, left : left + width]


def crop(drawn: Scene, margins: int) -> Bgr:
    """Cut the first plate out, with other margins for each number."""
    across, down = divmod(margins % WIDEST_PX**2, WIDEST_PX)
    x0, y0, x1, y1 = drawn.xyxy[0].astype(int)
    return drawn.picture[max(0, y0 - down) : y1 + down, max(0, x0 - across) : x1 + across]


@cache
def draw_scene(seed: int) -> Scene:
    """Draw a street whose plates no other seed has."""
    rng = np.random.default_rng((seed, PLATES))
    texts = [random_text(rng, russian(), "ru_car")[0] for _ in range(PLATES)]
    width, height = SIZE_WH
    return scene(texts, (width + SHIFT_PX, height + SHIFT_PX), seed=seed)


def enlarge(picture: Picture, size_wh: tuple[int, int]) -> Picture:
    """Return a picture scaled up to a size."""
    larger = cv2.resize(picture.bgr, size_wh).astype(np.uint8)
    return encode(f"large {picture.name}", larger)


def find_twins(answers: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of equal answers: an exchange of these two would not be noticed."""
    first: dict[str, int] = {}
    pairs = []
    for position, answer in enumerate(answers):
        if (earlier := first.setdefault(answer, position)) != position:
            pairs.append((earlier, position))
    return pairs
