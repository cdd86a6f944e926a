"""Looks and parts of Russian number plates: sizes, colours, characters, region's field, flag.

Sources: GOST R 50577-2018 for sizes, colours and the heights of characters, and photos. The
standard's drawings were not available: positions without a figure in it are measured by eye.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from workshop.rendering.glyphs import GLYPHS
from workshop.rendering.painting import Colour, Field

Size = tuple[float, float]
"""Width and height, mm."""

WHITE, BLACK, YELLOW = (236, 238, 236), (28, 26, 26), (30, 200, 245)
BLUE, RED = (170, 80, 30), (40, 35, 170)

LONG_MM: Size = (520.0, 112.0)
CAR_SQUARE_MM: Size = (290.0, 170.0)
US_MM: Size = (305.0, 152.0)
TRACTOR_MM: Size = (288.0, 206.0)
MOTORCYCLE_MM: Size = (245.0, 185.0)
SMALL_MM: Size = (190.0, 145.0)


@dataclass(frozen=True)
class Look:
    """Common look of all plates of one format.

    Attributes:
        numbers: Layouts of the text before the region code, or before the digits in its place.
            The sign `L` is a letter, `D` a digit and `/` the line break. The sign `R` is a digit
            of a code that is not last.
        sizes_mm: Possible widths and heights; the most common one comes first.
        paper: Colour of the field.
        ink: Colour of characters and frame.
        code_paper: Colour behind the region code; the field's colour when None.
        has_flag: True if a flag stands beside RUS, below the region code.
    """

    numbers: tuple[str, ...]
    sizes_mm: tuple[Size, ...] = (LONG_MM,)
    paper: Colour = WHITE
    ink: Colour = BLACK
    code_paper: Colour | None = None
    has_flag: bool = False


def _military(*numbers: str, size_mm: Size = LONG_MM) -> Look:
    return Look(numbers, (size_mm,), BLACK, WHITE)


LOOKS = {
    "ru_car": Look(("LDDDLL",), has_flag=True),
    "ru_car_square": Look(("LDDD/LL", "LDDDLL/"), (CAR_SQUARE_MM,), has_flag=True),
    "ru_taxi": Look(("LLDDD",), paper=YELLOW),
    "ru_trailer": Look(("LLDDDD",), has_flag=True),
    "ru_tractor": Look(("DDDD/LL",), (TRACTOR_MM,)),
    "ru_motorcycle": Look(("DDDD/LL",), (MOTORCYCLE_MM, SMALL_MM)),
    "ru_offroad": Look(("LLRR/DDDD",), (SMALL_MM,)),
    "ru_moped": Look(("LLDD/LL",), (SMALL_MM,)),
    "ru_military": _military("DDDDLL"),
    "ru_military_square": _military("DDDD/LL", size_mm=CAR_SQUARE_MM),
    "ru_military_trailer": _military("LLDDDD"),
    "ru_military_tractor": _military("DDDD/LL", size_mm=TRACTOR_MM),
    "ru_military_motorcycle": _military("DDDD/LL", size_mm=MOTORCYCLE_MM),
    "ru_diplomatic_head": Look(("DDDLLD",), paper=RED, ink=WHITE),
    "ru_diplomatic": Look(("DDDLDDD",), paper=RED, ink=WHITE),
    "ru_transit": Look(("LLDDDL",), code_paper=YELLOW, has_flag=True),
    "ru_export": Look(("LLLDDD",), code_paper=YELLOW, has_flag=True),
    "ru_police": Look(("LDDDD",), paper=BLUE, ink=WHITE),
    "ru_police_trailer": Look(("DDDL",), paper=BLUE, ink=WHITE),
    "ru_police_motorcycle": Look(("DDDD/L",), (MOTORCYCLE_MM,), BLUE, WHITE),
}
"""Look of every format that is drawn, by the format's name."""


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
    text_mm = (sum(pitch) + sum(gaps)) * factor
    x_mm = row.left + (room - text_mm) / 2 + style.shift_mm * scale
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
