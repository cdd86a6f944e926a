"""Characters of real plates put over those of others: real pictures with new texts.

A network that sees the same thousand plates for hours learns their texts by heart. The renderer
knows where the characters of a car's plate are; a plate of a photo is a little off, because its
corners are STN's. So the places are moved until the gaps between the characters are bright.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.formats.plate_formats import Formats
from workshop.rendering.russia import row_of_number
from workshop.rendering.russia_parts import LONG_MM, Style, places_in_row
from workshop.training.reader.crops import RealCrop
from workshop.training.reader.region_codes import can_replace, paint_field

CHARACTERS = 6
"""Number of characters of a car's number, before the region code."""
SCALES, SHIFTS_MM = np.linspace(0.94, 1.06, 13), np.linspace(-16.0, 16.0, 33)
"""Sizes and shifts of the number that are tried."""
CORE_MM = (28, 92)
"""Upper and lower edge of the part of a plate that is looked at: letters and digits have it."""
GAP_MM = 3
"""Width of a gap between characters over which brightness is averaged."""
MIN_CONTRAST = 35.0
"""Least difference of paper and ink, in grey levels, of plates whose characters are exchanged."""
MIN_GAP = 0.75
"""Least brightness of the darkest gap between characters; 0 is the ink and 1 the paper."""
MAX_DONORS = 4
"""Number of donors of a character that are compared; the one of the most similar size gives it."""


class LocatedPlate(NamedTuple):
    """A crop, and the edges of the places of its number's characters, mm on its plate, (7,)."""

    crop: RealCrop
    edges_mm: NDArray[np.float64]

    def field(self, index: int) -> tuple[float, float]:
        return float(self.edges_mm[index]), float(self.edges_mm[index + 1])


class Places(NamedTuple):
    """Plates whose characters were located.

    Attributes:
        of_crops: The plates by the names of their crops.
        of_characters: Each character's plates, and its index in the number.
    """

    of_crops: Mapping[str, LocatedPlate]
    of_characters: Mapping[str, Sequence[tuple[LocatedPlate, int]]]


def locate_all(crops: Sequence[RealCrop], formats: Formats) -> Places:
    """Locate the characters of cars' plates of one line whose corners are known."""
    of_crops: dict[str, LocatedPlate] = {}
    of_characters: dict[str, list[tuple[LocatedPlate, int]]] = {}
    for crop in crops:
        if not can_replace(crop, formats):
            continue
        edges = locate(crop, len(formats.code_of(crop.text)))
        if edges is not None:
            of_crops[crop.name] = located = LocatedPlate(crop, edges)
            for index, char in enumerate(crop.text[:CHARACTERS]):
                of_characters.setdefault(char, []).append((located, index))
    return Places(of_crops, of_characters)


def locate(crop: RealCrop, digits: int) -> NDArray[np.float64] | None:
    """Return the edges of the places of a number's characters, mm; None if they are not seen.

    Args:
        crop: Crop of a car's plate, its corners known.
        digits: Number of digits of the region code.
    """
    bright = _brightness(crop)
    if bright is None:
        return None
    nominal = _nominal_edges(crop.text[:CHARACTERS], digits)
    middle = LONG_MM[0] / 2
    candidates = (nominal - middle) * SCALES[:, None, None] + middle + SHIFTS_MM[None, :, None]
    gaps = bright[candidates.round().astype(int).clip(0, len(bright) - 1)]
    ink = bright[((candidates[..., 1:] + candidates[..., :-1]) / 2).round().astype(int)]
    off = np.abs(SCALES - 1)[:, None] + np.abs(SHIFTS_MM) / LONG_MM[0]
    darkest = gaps[..., 1:].min(axis=2)  # the first edge may be the plate's frame
    scores = darkest + gaps.mean(axis=2) - ink.mean(axis=2) - off
    best = np.unravel_index(int(scores.argmax()), scores.shape)
    edges: NDArray[np.float64] = candidates[best]
    return edges if darkest[best] >= MIN_GAP else None


def _nominal_edges(number: str, digits: int) -> NDArray[np.float64]:
    """Return the edges of the characters' places as the renderer has them, (7,) mm."""
    places = places_in_row(Style(), number, row_of_number(digits))
    between = [(place[1] + next_place[0]) / 2 for place, next_place in pairwise(places)]
    return np.array([places[0][0], *between, places[-1][1]])


def _brightness(crop: RealCrop) -> NDArray[np.float32] | None:
    """Return the brightness of each mm along a plate, (520,); None with too little contrast."""
    width, height = (int(side) for side in LONG_MM)
    flat = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(crop.quad.astype(np.float32), flat)
    grey = cv2.cvtColor(crop.picture, cv2.COLOR_BGR2GRAY)
    plate = cv2.warpPerspective(grey, matrix, (width, height)).astype(np.float32)
    ink, paper = np.percentile(plate[10:-10, 15:-15], [4, 88])
    if paper - ink < MIN_CONTRAST:
        return None
    columns = cv2.blur(plate[slice(*CORE_MM)].mean(axis=0)[None], (GAP_MM, 1))[0]
    bright: NDArray[np.float32] = (columns - ink) / (paper - ink)
    return bright


def exchange(rng: np.random.Generator, crop: RealCrop, places: Places) -> RealCrop:
    """Replace one character or more of a crop by characters of real plates; digits stay digits.

    Args:
        rng: Source of all randomness.
        crop: Crop whose characters were located.
        places: All located plates.
    """
    own, text, picture = places.of_crops[crop.name], list(crop.text), crop.picture
    indices = np.flatnonzero(rng.random(CHARACTERS) < 0.5).tolist()
    for index in indices or [int(rng.integers(CHARACTERS))]:
        char = _choose_character(rng, places, is_digit=text[index].isdigit())
        donor, at = _choose_donor(rng, crop, places.of_characters[char])
        picture = paint_field(
            (picture, crop.quad), own.field(index),
            (donor.crop.picture, donor.crop.quad), donor.field(at),
        )  # fmt: skip
        text[index] = char
    return replace(crop, picture=picture, text="".join(text))


def _choose_character(rng: np.random.Generator, places: Places, *, is_digit: bool) -> str:
    """Choose a digit or a letter that some plate has; rare ones as often as others."""
    return str(
        rng.choice(sorted(char for char in places.of_characters if char.isdigit() == is_digit))
    )


def _choose_donor(
    rng: np.random.Generator, crop: RealCrop, donors: Sequence[tuple[LocatedPlate, int]]
) -> tuple[LocatedPlate, int]:
    """Choose a plate of a similar size."""
    candidates = [donors[int(index)] for index in rng.integers(len(donors), size=MAX_DONORS)]
    width_px = np.ptp(crop.quad[:, 0])
    return min(
        candidates, key=lambda donor: abs(np.log(np.ptp(donor[0].crop.quad[:, 0]) / width_px))
    )
