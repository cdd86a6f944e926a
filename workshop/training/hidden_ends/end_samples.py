"""Plates of which two digits of a region are read and shown: whole ones, and hidden ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array
from orchestrator.imaging.files import Bgr
from orchestrator.reading.affine_crops import corners_of, grow_frames, sample_frame
from orchestrator.reading.hidden_ends import ROOM_XY, SEEN_HW, SHORT
from orchestrator.reading.reader import MIN_WIDTH_PX, Reader
from orchestrator.settings import Settings
from workshop.evaluation.hidden_ends.counting import COVERS, LONG, hide_right
from workshop.evaluation.recognizers import read_plates
from workshop.rendering.painting import GlyphSource
from workshop.rendering.samples.inexact_frames import jitter_box
from workshop.rendering.samples.photos import photograph_plate
from workshop.training.reader.crops import RealCrop, inner_box

TALL = ("post", "car")
"""Covers that the detector's box never includes. It may include the others."""
BESIDE_SHARE, BESIDE_ROOMS = 0.3, (0.03, 0.12)
"""Share of whole plates with a tall cover beside them, and its distance in widths of the plate."""
RENDERED_SHARES, REAL_SHARES = (0.03, 0.21), (0.05, 0.2)
"""Least and greatest hidden part of a plate's width."""
RENDERED_LOOKS, REAL_LOOKS = 3, 2
"""Covers of each rendered plate; covers of each kind of each real plate."""


class EndSample(NamedTuple):
    """A plate that is read with two digits of a region.

    Attributes:
        seen: uint8 [40, 208, 3] BGR, see `weigh_end`.
        is_hidden: The plate has a third digit, and something hides it.
    """

    seen: npt.NDArray[np.uint8]
    is_hidden: bool


def render_ends(
    plates: int, seed: int, reader: Reader, font: GlyphSource | None = None
) -> Iterator[EndSample]:
    """Render plates of cars, some with a font's characters, and yield the samples among them."""
    for rng in np.random.default_rng(seed).spawn(plates):
        photo = photograph_plate(rng, SHORT[0], font)
        across = photo.quad[1] - photo.quad[0]
        for _ in range(RENDERED_LOOKS if len(photo.text) == len(LONG) else 1):
            picture, lost = photo.picture, 0.0
            if len(photo.text) == len(LONG):
                kind, hidden = str(rng.choice([*COVERS])), float(rng.uniform(*RENDERED_SHARES))
                picture = hide_right(rng, picture, photo.quad, hidden, COVERS[kind])
                lost = _draw_lost(rng, kind, hidden)
            elif rng.random() < BESIDE_SHARE:
                kind, room = str(rng.choice(TALL)), float(rng.uniform(*BESIDE_ROOMS))
                picture = hide_right(rng, picture, photo.quad, -room, COVERS[kind])
            box = jitter_box(rng, photo.quad - np.outer([0, lost, lost, 0], across))
            yield from _sample(picture, box, photo.text, reader)


def cut_ends(crops: Iterable[RealCrop], seed: int, reader: Reader) -> Iterator[EndSample]:
    """Yield samples of those real plates of cars that are read as their labels say."""
    for crop in crops:
        rng, box = np.random.default_rng([seed, *crop.name.encode()]), inner_box(crop.picture)
        text, frame = _read(crop.picture, box, reader)
        if text != crop.text or reader.formats.format_of(text, crop.lines) != SHORT[0]:
            continue
        if len(text) < len(LONG):
            yield from _sample(crop.picture, box, text, reader)
            continue
        for kind in [*COVERS] * REAL_LOOKS:
            hidden = float(rng.uniform(*REAL_SHARES))
            quad = corners_of(frame[None])[0].astype(np.float64)
            picture = hide_right(rng, crop.picture, quad, hidden, COVERS[kind])
            lost = _draw_lost(rng, kind, hidden) * (box[2] - box[0])
            yield from _sample(picture, box - [0, 0, lost, 0], text, reader)


def _draw_lost(rng: np.random.Generator, kind: str, hidden: float) -> float:
    """Draw the part of a plate's width that its box lacks: the hidden part, some of it or none."""
    return hidden if kind in TALL else hidden * float(rng.choice([0, 1, rng.random()]))


def _sample(picture: Bgr, box: Array, text: str, reader: Reader) -> Iterator[EndSample]:
    """Yield the plate in a box if it is read as the text, or as all but its third region digit."""
    best, frame = _read(picture, box, reader)
    if best == text[: len(SHORT[1])]:
        (grown,) = grow_frames(frame[None], ROOM_XY)
        yield EndSample(sample_frame(picture, grown, SEEN_HW), is_hidden=best != text)


def _read(picture: Bgr, box: Array, reader: Reader) -> tuple[str, Array]:
    """Return the text of the plate in a box, and its frame; no text if it would not be shown."""
    high, wide = picture.shape[:2]
    xyxy = np.clip(box, 0, [wide, high, wide, high]).astype(np.float32)
    if xyxy[2] - xyxy[0] < MIN_WIDTH_PX:
        return "", np.empty((2, 3), np.float32)
    plates = read_plates(picture, xyxy[None], reader)
    (reading,) = plates.readings
    return reading.candidates[0][
        0
    ] if reading.score >= Settings.text_threshold else "", plates.frames[0]
