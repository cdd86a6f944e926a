"""Parts of Russian number plates: characters on one baseline, the region's field, the flag."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from workshop.rendering.glyphs import GLYPHS
from workshop.rendering.painting import Colour, Field

LETTER = 58 / 76
"""Height of a letter divided by the height of a digit beside it."""
STRIPES: tuple[Colour, ...] = ((236, 238, 236), (160, 60, 20), (40, 40, 200))
"""White, blue and red."""


@dataclass(frozen=True)
class Style:
    """Differences between plates of one format.

    Attributes:
        weight: Factor on the width of the strokes.
        shift_mm: Shift of the characters to the right.
        spread: Factor on the distances between characters.
        flag: True to draw the flag, if the format has one.
        frame: True to draw frame and borders.
        border: True to draw a line round the region code of a plate of two lines.
        bolts: Positions of bolts, x and y from 0 to 1 of width and height.
        pick: Choice among the format's sizes, from 0 to 1.
    """

    weight: float = 0.9
    shift_mm: float = 0.0
    spread: float = 1.0
    flag: bool = True
    frame: bool = True
    border: bool = False
    bolts: tuple[tuple[float, float], ...] = ((22 / 520, 0.5), (498 / 520, 0.5))
    pick: float = 0.0


def random_style(rng: np.random.Generator) -> Style:
    bolts: tuple[tuple[float, float], ...] = Style.bolts
    if rng.random() < 0.3:
        bolts = tuple((float(rng.uniform(0.02, 0.98)), float(rng.choice([0.1, 0.9]))) for _ in "12")
    return Style(
        weight=float(np.round(rng.uniform(0.7, 1.15), 1)),
        shift_mm=float(rng.normal(0, 3)),
        spread=float(rng.uniform(0.94, 1.05)),
        flag=bool(rng.random() < 0.85),
        frame=bool(rng.random() < 0.9),
        border=bool(rng.random() < 0.4),
        bolts=bolts if rng.random() < 0.85 else (),
        pick=float(rng.random()),
    )


@dataclass(frozen=True)
class Row:
    """Position of a line of text on a plate, mm.

    Attributes:
        left: Left edge of the line's room.
        right: Right edge of the line's room.
        bottom: The baseline.
        tall: Height of digits; letters are lower.
    """

    left: float
    right: float
    bottom: float
    tall: float


def draw_row(field: Field, style: Style, text: str, row: Row) -> None:
    """Paint digits and letters on one baseline, in the middle of the line's room."""
    for char, (left, right) in zip(text, places_in_row(style, text, row), strict=True):
        height = row.tall if char.isdigit() else row.tall * LETTER
        room_mm = right - left
        field.character(char, left + room_mm / 2, row.bottom, height, room_mm=0.97 * room_mm)


def places_in_row(style: Style, text: str, row: Row) -> list[tuple[float, float]]:
    """Return the left and the right edge of each character's room, mm."""
    scale = row.tall / 76
    pitch = [(54.0 if char.isdigit() else 50.0) * scale for char in text]
    gaps = [8.0 * scale * (char.isdigit() != two.isdigit()) for char, two in pairwise(text)]
    room = row.right - row.left
    factor = min(1.08, room / (sum(pitch) + sum(gaps)) * (0.94 if style.spread > 1 else 1))
    factor *= style.spread
    used = (sum(pitch) + sum(gaps)) * factor
    x_mm = row.left + (room - used) / 2 + style.shift_mm * scale
    places = []
    for advance, gap in zip(pitch, [*gaps, 0.0], strict=True):
        places.append((x_mm, x_mm + advance * factor))
        x_mm += (advance + gap) * factor
    return places


def draw_code(field: Field, code: str, centre_mm: float, bottom_mm: float, tall_mm: float) -> None:
    """Paint the digits of a region code close together, centred at `centre_mm`."""
    widths = [(GLYPHS[char].width + 10) * tall_mm / 100 for char in code]
    x_mm = centre_mm - sum(widths) / 2
    for char, width in zip(code, widths, strict=True):
        field.character(char, x_mm + width / 2, bottom_mm, tall_mm)
        x_mm += width


def draw_country(
    field: Field, centre_mm: float, bottom_mm: float, tall_mm: float, *, flag: bool
) -> None:
    """Paint RUS, and the flag on its right."""
    pitch, gap, wide = 0.9 * tall_mm, 0.2 * tall_mm, 1.7 * tall_mm
    x_mm = centre_mm - (3 * pitch + (gap + wide) * flag) / 2
    for char in "RUS":
        field.character(char, x_mm + pitch / 2, bottom_mm, tall_mm)
        x_mm += pitch
    if flag:
        _draw_flag(field, x_mm + gap, bottom_mm - tall_mm, (wide, tall_mm))


def _draw_flag(field: Field, left_mm: float, top_mm: float, size_mm: tuple[float, float]) -> None:
    """Draw white, blue and red stripes in a thin frame."""
    width, height = size_mm
    for index, colour in enumerate(STRIPES):
        top, bottom = (top_mm + height * (index + edge) / 3 for edge in (0, 1))
        field.fill(left_mm, top, left_mm + width, bottom, colour=colour)
    first, last = (
        (round(x * field.px_per_mm), round(y * field.px_per_mm))
        for x, y in ((left_mm, top_mm), (left_mm + width, top_mm + height))
    )
    cv2.rectangle(field.plate, first, last, field.ink, 1)
