"""Looks of Russian number plates by format: sizes, colours, and the characters of each line.

Sources: GOST R 50577-2018 for sizes, colours and the heights of characters, and photos. The
standard's drawings were not available: positions without a figure in it are measured by eye.
"""

from __future__ import annotations

from dataclasses import dataclass

from workshop.rendering.painting import Colour

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
