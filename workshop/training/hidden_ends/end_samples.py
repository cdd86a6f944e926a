"""Plates of which two digits of a region are read and shown: whole ones, and hidden ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orchestrator.arrays import Array
from orchestrator.imaging.files import Bgr
from orchestrator.reading.affine_crops import corners_of
from orchestrator.reading.hidden_ends import ROOM_XY, SHORT, Floats, see_ends
from orchestrator.reading.reader import MIN_WIDTH_PX, Reader
from orchestrator.settings import Settings
from workshop.evaluation.recognizers import read_plates
from workshop.rendering.covers import COVERS, LONG, hide_right
from workshop.rendering.painting import GlyphSource
from workshop.rendering.samples.inexact_frames import jitter_box
from workshop.rendering.samples.photos import Photo, photograph_plate
from workshop.training.reader.crops import RealCrop, inner_box
from workshop.training.reader.sources import photograph_again

TALL = ("post", "car")
"""Covers that the detector's box never includes. It may include the others."""
BESIDE_SHARE, BESIDE_ROOMS = 0.3, (0.03, 0.12)
"""Share of whole plates with a tall cover beside them, and its distance in widths of the plate."""
HIDDEN_SHARES = (0.03, 0.21)
"""Least and greatest hidden part of a plate's width."""
LOOKS, REAL_PHOTOS = {8: 2, 9: 8}, {8: 2, 9: 8}
"""Looks at each photo, and photos of each real plate, by the length of its text."""
VIEWS, ERRORS = 4, (0.012, 0.025, 0.006, 0.012)
"""Views of each plate; standard deviations of the room around its frame, and of the frame's place,
in widths and heights of the plate. The first view has no errors."""


class EndSample(NamedTuple):
    """A plate that is read with two digits of a region.

    Attributes:
        views: float32 [VIEWS, 24, 96], see `see_ends`.
        is_hidden: The plate has a third digit, and something hides it.
    """

    views: Floats
    is_hidden: bool


def render_ends(
    plates: int, seed: int, reader: Reader, font: GlyphSource | None = None
) -> Iterator[EndSample]:
    """Render plates of cars, some with a font's characters, and yield the samples among them."""
    for rng in np.random.default_rng(seed).spawn(plates):
        yield from _look(rng, photograph_plate(rng, SHORT[0], font), reader)


def photograph_ends(crops: Iterable[RealCrop], seed: int, reader: Reader) -> Iterator[EndSample]:
    """Yield samples of those real plates of cars that are read as their labels say."""
    for crop in crops:
        rng = np.random.default_rng([seed, *crop.name.encode()])
        text, frame = _read(crop.picture, inner_box(crop.picture), reader)
        if text == crop.text and reader.formats.format_of(text, crop.lines) == SHORT[0]:
            framed = replace(crop, corners=corners_of(frame[None])[0].astype(np.float64))
            for _ in range(REAL_PHOTOS[len(text)]):
                yield from _look(rng, photograph_again(rng, framed), reader)


def _look(rng: np.random.Generator, photo: Photo, reader: Reader) -> Iterator[EndSample]:
    """Look at a plate some times; hide its end if its region has three digits.

    Yield the looks that are read as the text, or as all but its third region digit.
    """
    is_long, across = len(photo.text) == len(LONG), photo.quad[1] - photo.quad[0]
    for _ in range(LOOKS[len(photo.text)]):
        picture, missing = photo.picture, 0.0
        if is_long:
            kind, hidden = str(rng.choice([*COVERS])), float(rng.uniform(*HIDDEN_SHARES))
            picture = hide_right(rng, picture, photo.quad, hidden, COVERS[kind])
            missing = hidden if kind in TALL else hidden * float(rng.choice([0, 1, rng.random()]))
        elif rng.random() < BESIDE_SHARE:
            kind, room = str(rng.choice(TALL)), float(rng.uniform(*BESIDE_ROOMS))
            picture = hide_right(rng, picture, photo.quad, -room, COVERS[kind])
        box = jitter_box(rng, photo.quad - np.outer([0, missing, missing, 0], across))
        best, frame = _read(picture, box, reader)
        if best == photo.text[: len(SHORT[1])]:
            yield EndSample(see_ends(picture, _vary(rng, frame)), is_hidden=best != photo.text)


def _read(picture: Bgr, box: Array, reader: Reader) -> tuple[str, Array]:
    """Return the text of the plate in a box, and its frame; no text if it would not be shown."""
    high, wide = picture.shape[:2]
    xyxy = np.clip(box, 0, [wide, high, wide, high]).astype(np.float32)
    if xyxy[2] - xyxy[0] < MIN_WIDTH_PX:
        return "", np.empty((2, 3), np.float32)
    plates = read_plates(picture, xyxy[None], reader)
    (reading,) = plates.readings
    is_shown = reading.score >= Settings.text_threshold
    return reading.candidates[0][0] if is_shown else "", plates.frames[0]


def _vary(rng: np.random.Generator, frame: Array) -> Array:
    """Return a frame as the service cuts it, and inexact ones: [VIEWS, 2, 3]."""
    errors = rng.normal(0, ERRORS, (VIEWS, 4))
    errors[0] = 0
    sizes = 1 + 2 * (ROOM_XY + errors[:, None, :2])
    places = frame[:, 2] + errors[:, 2:] @ frame[:, :2].T
    return np.concatenate((frame[:, :2] * sizes, places[:, :, None]), 2)
