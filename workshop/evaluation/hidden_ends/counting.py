"""Counts plates whose right end is hidden, and that are read as shorter ones.

A region of three digits that loses its last digit is another region: `A123BC186` becomes
`A123BC18`. Something hides 0 to 20 % of a plate at the right, or the picture ends there. Only
plates count that are read right when nothing hides them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plate
from workshop.evaluation.datasets import STANDARD, LabelledPlate, read_scenes
from workshop.evaluation.outcomes import centre_of, open_picture
from workshop.evaluation.reading import SURE
from workshop.rendering.camera import Quad, cloud, random_colour
from workshop.rendering.country import russia
from workshop.rendering.scenery import scene
from workshop.rendering.texts import fill
from workshop.reporting.tables import format_percent, format_table, ratio

MAX_SLANT = 0.03
"""Greatest slant of a cover's edge, as a share of the plate's width."""


class Cover(NamedTuple):
    """A kind of cover. All lengths are in widths or heights of the plate, from its own corner.

    Attributes:
        right: The least and greatest place of its right edge; 1 is the plate's end.
        top: The place of its upper edge; 0 is the plate's.
        bottom: The place of its lower edge; 1 is the plate's.
        greys: The least and greatest grey level; None for any colour.
        tint: The share of blue, green and red in it.
    """

    right: tuple[float, float]
    top: float
    bottom: float
    greys: tuple[float, float] | None = None
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)


COVERS: Mapping[str, Cover] = {
    "post": Cover(right=(1.05, 1.4), top=-3.0, bottom=4.0),
    "car": Cover(right=(4.0, 4.0), top=-3.0, bottom=4.0),
    "dirt": Cover((1.0, 1.0), 0.0, 1.0, greys=(60.0, 170.0), tint=(0.75, 0.85, 1.0)),
    "snow": Cover((1.01, 1.01), -0.02, 1.02, greys=(170.0, 235.0)),
}
"""The kinds of covers, by name."""


def hide_right(
    rng: np.random.Generator, picture: Bgr, quad: Quad, share: float, cover: Cover
) -> Bgr:
    """Hide the right end of a plate.

    Args:
        rng: Source of all randomness.
        picture: (H, W, 3) uint8 BGR; it is not changed.
        quad: The plate's corners, clockwise from top-left, pixels.
        share: The share of the plate's width that is hidden.
        cover: What hides it.
    """
    slant, right = rng.uniform(-MAX_SLANT, MAX_SLANT), rng.uniform(*cover.right)
    left = 1 - share
    places = (
        (left + slant, cover.top),
        (right + slant, cover.top),
        (right - slant, cover.bottom),
        (left - slant, cover.bottom),
    )
    across, down = quad[1] - quad[0], quad[3] - quad[0]
    corners = np.array([quad[0] + x * across + y * down for x, y in places])
    low = np.floor(corners.min(axis=0)).astype(int).clip(0)
    high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 2, picture.shape[1::-1])
    hidden = picture.copy()
    part = hidden[low[1] : high[1], low[0] : high[0]]
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillConvexPoly(
        mask, np.round((corners - low) * 16).astype(np.int32), (255,), cv2.LINE_AA, 4
    )
    alpha = mask[:, :, None] / 255
    blend = part * (1 - alpha) + _paint(rng, mask.shape, float(np.hypot(*down)), cover) * alpha
    part[:] = blend.round().clip(0, 255).astype(np.uint8)
    return hidden


def _paint(
    rng: np.random.Generator, size_hw: tuple[int, ...], height_px: float, cover: Cover
) -> Bgr:
    """Return the surface of a cover: its colour, with soft blobs and grain."""
    if cover.greys is None:
        colour = np.array(random_colour(rng), np.float32)
    else:
        colour = np.array(cover.tint, np.float32) * np.float32(rng.uniform(*cover.greys))
    blobs = cloud(rng, (size_hw[0], size_hw[1]), max(3, round(height_px)))[:, :, None] - 0.5
    grain = rng.normal(0, 2.5, (size_hw[0], size_hw[1], 1))
    surface: Bgr = colour + blobs * rng.uniform(10, 50) + grain
    return surface


SEED = 5300
LONG = "LDDDLLRRR"
"""The layout of a car's plate with a region of three digits."""
SIZES_WH = ((800, 600), (640, 480), (480, 360))
MAX_HIDDEN = 0.2
"""Greatest share of a plate's width that is hidden."""
EDGE = "picture's edge"
KINDS = (*COVERS, EDGE)


class Target(NamedTuple):
    """A plate with a region of three digits in a picture that shows it whole.

    Attributes:
        picture: (H, W, 3) uint8 BGR.
        label: Its text and region.
        quad: Its corners, clockwise from top-left; None if only the service can tell them.
    """

    picture: Bgr
    label: LabelledPlate
    quad: Quad | None = None


@dataclass
class Count:
    """The texts read for plates that one kind of cover hides.

    Attributes:
        looks: The number of plates.
        read: Plates whose own text is shown.
        shorter: Plates of which a beginning of their text is the best reading, at any score.
        sure_shorter: Those of them with a sure score.
        sure_others: Plates with any other text that is sure.
    """

    looks: int = 0
    read: int = 0
    shorter: int = 0
    sure_shorter: int = 0
    sure_others: int = 0

    def add(self, text: str, plate: Plate | None) -> None:
        """Count the answer for one plate; None if it was not found."""
        best = plate.candidates[0][0] if plate and plate.candidates else ""
        is_sure = plate is not None and plate.text_score >= SURE
        is_shorter = best not in ("", text) and text.startswith(best)
        self.looks += 1
        self.read += plate is not None and plate.text == text
        self.shorter += is_shorter
        self.sure_shorter += is_shorter and is_sure
        self.sure_others += is_sure and best != text and not is_shorter


def render_targets(count: int, seed: int = SEED) -> Iterator[Target]:
    """Draw streets with one car, whose plate has a region of three digits."""
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        text = fill(rng, LONG, russia().formats)
        street = scene([text], SIZES_WH[index % len(SIZES_WH)], seed=int(rng.integers(1 << 31)))
        x0, y0, x1, y1 = street.xyxy[0].tolist()
        label = LabelledPlate(text, STANDARD, (x0, y0, x1, y1))
        yield Target(street.picture, label, street.quads[0].astype(np.float64))


def read_targets(folder: Path) -> Iterator[Target]:
    """Read the photos of standard plates with a region of three digits."""
    for photo in read_scenes(folder):
        for plate in photo.plates:
            if plate.type == STANDARD and len(plate.text) == len(LONG):
                yield Target(open_picture(photo.path).numpy(), plate)


def count_hidden(
    targets: Iterable[Target], infer: Infer, covers: int = len(KINDS), seed: int = SEED
) -> dict[str, Count]:
    """Hide the right end of each plate that is read right, and count what is read then.

    Args:
        targets: The plates.
        infer: Runs the networks.
        covers: The number of kinds of covers for each plate, drawn at random.
        seed: Seed of the covers.
    """
    counts = {kind: Count() for kind in KINDS}
    for target, rng in zip(targets, _generate(seed), strict=False):
        whole = look(target.picture, target.label, infer)
        if whole is None or whole.text != target.label.text:
            continue
        quad = np.array(whole.corners) if target.quad is None else target.quad
        for index in rng.permutation(len(KINDS))[:covers].tolist():
            hidden = hide(rng, target.picture, quad, KINDS[index])
            counts[KINDS[index]].add(target.label.text, look(hidden, target.label, infer))
    return counts


def _generate(seed: int) -> Iterator[np.random.Generator]:
    """Yield a generator of covers for each plate."""
    sequence = np.random.SeedSequence(seed)
    while True:
        yield np.random.default_rng(sequence.spawn(1)[0])


def hide(rng: np.random.Generator, picture: Bgr, quad: Quad, kind: str) -> Bgr:
    """Return the picture with the right end of a plate hidden, or cut off."""
    share = float(rng.uniform(0, MAX_HIDDEN))
    if kind != EDGE:
        return hide_right(rng, picture, quad, share, COVERS[kind])
    edge = (quad[0] + (1 - share) * (quad[1] - quad[0]))[0]
    return np.ascontiguousarray(picture[:, : max(1, round(float(edge)))])


def look(picture: Bgr, label: LabelledPlate, infer: Infer) -> Plate | None:
    """Return the plate with the surest text in a label's region; None if there is none."""
    inside = [plate for plate in recognize(picture, infer) if label.holds(centre_of(plate.xyxy))]
    return max(inside, key=lambda plate: plate.text_score, default=None)


def describe(counts: dict[str, Count]) -> str:
    """Return a table of the counts, and the share of shorter texts that are sure."""
    rows = [
        (kind, count.looks, count.read, count.shorter, count.sure_shorter, count.sure_others)
        for kind, count in counts.items()
    ]
    header = ("hidden by", "plates", "read", "a shorter text", "of these sure", "others, sure")
    return f"{format_table(header, rows)}\nsure and shorter: {format_percent(share_of(counts))}"


def share_of(counts: dict[str, Count]) -> float:
    """Return the share of all plates that are read as shorter ones, with a sure score."""
    looks = sum(count.looks for count in counts.values())
    return ratio(sum(count.sure_shorter for count in counts.values()), looks) or 0.0
