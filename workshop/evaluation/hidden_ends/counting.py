"""Counts plates whose right end is hidden, and that are read as shorter ones.

A region of three digits that loses its last digit is another region: `A123BC186` becomes
`A123BC18`. Something hides 0 to 20 % of a plate at the right, or the picture ends there. Only
plates count that are read right when nothing hides them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orchestrator.imaging.files import Bgr
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plate
from workshop.evaluation.datasets import STANDARD, LabelledPlate, read_scenes
from workshop.evaluation.outcomes import centre_of, open_picture
from workshop.evaluation.scores import SURE
from workshop.rendering.camera import Quad
from workshop.rendering.country import russia
from workshop.rendering.covers import COVERS, hide_right
from workshop.rendering.scenery import scene
from workshop.rendering.texts import fill
from workshop.reporting.comparison import ratio
from workshop.reporting.tables import format_percent, format_table

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
        (kind, of.looks, of.read, of.shorter, of.sure_shorter, of.sure_others)
        for kind, of in counts.items()
    ]
    header = ("hidden by", "plates", "read", "a shorter text", "of these sure", "others, sure")
    return f"{format_table(header, rows)}\nsure and shorter: {format_percent(share_of(counts))}"


def share_of(counts: dict[str, Count]) -> float:
    """Return the share of all plates that are read as shorter ones, with a sure score."""
    looks = sum(count.looks for count in counts.values())
    return ratio(sum(count.sure_shorter for count in counts.values()), looks) or 0.0
