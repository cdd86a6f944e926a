"""Flat plates of Russia's neighbours in one line, 520 x 112 mm, with the sign of the country.

Sizes and positions are by eye, and all characters are those of Russian plates: Armenian, Georgian
and Kyrgyz plates have another font. The formats file names sources and uncertainties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workshop.rendering import kazakhstan, russia
from workshop.rendering.country import FlatPlate
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import Colour, Field, GlyphSource

SIZE_MM = (520.0, 112.0)
WHITE, BLACK = (238, 240, 238), (30, 26, 26)
BLUE, RED, GREEN, YELLOW = (165, 75, 25), (45, 40, 200), (70, 150, 40), (40, 205, 245)
SKY, ORANGE, SIGN_BLUE = (215, 165, 45), (20, 140, 240), (150, 60, 10)

Stripes = tuple[tuple[Colour, float], ...]
"""Colours of a flag from above, with their shares of its height."""
FLAGS: dict[str, Stripes] = {
    "am": ((RED, 1 / 3), (BLUE, 1 / 3), (ORANGE, 1 / 3)),
    "by": ((RED, 2 / 3), (GREEN, 1 / 3)),
    "ge": ((WHITE, 0.4), (RED, 0.2), (WHITE, 0.4)),
    "kg": ((RED, 1.0),),
    "ua": ((BLUE, 0.5), (YELLOW, 0.5)),
    "uz": ((SKY, 0.31), (RED, 0.04), (WHITE, 0.3), (RED, 0.04), (GREEN, 0.31)),
}
SIGN, BELOW, BORDER = "*", "_", "|"
PLACES = "0A" + SIGN + BELOW
"""Places of a pattern that a character of the text belongs to."""
PATTERNS = {
    "by_car": ("*0000 AA-0",),
    "by_lorry": ("*AA 0000-0",),
    "by_trailer": ("*A0000A-0",),
    "ua_car": ("*AA 0000 AA",),
    "am_car": ("*00 AA 000", "*000 AA 00"),
    "kg_car": ("00_|000 AAA",),
    "uz_car": ("00|A 000 AA*",),
    "uz_company": ("00|000 AAA*",),
    "ge_car": ("*AA-000-AA",),
    "ge_1993": ("*AAA-000",),
}
"""Rows by format: digits, letters, the sign or the sign below the digits before, borders."""
ADVANCES = {BELOW: 0.0, BORDER: 0.35, " ": 0.4, "-": 0.5}
"""Room of what is no character, in that of a character."""


@dataclass(frozen=True)
class Style:
    """Differences between plates of one format.

    Attributes:
        weight: Factor on the width of the strokes.
        shift_mm: Shift of the row to the right.
        spread: Factor on the distances between characters.
        letter: Height of letters in that of digits.
        banded: True for the blue band of Ukrainian plates since 2015.
        frame: True to draw the frame.
        bolts: True to draw two bolts.
    """

    weight: float = 0.9
    shift_mm: float = 0.0
    spread: float = 1.0
    letter: float = 1.0
    banded: bool = True
    frame: bool = True
    bolts: bool = False


def random_style(rng: np.random.Generator) -> Style:
    return Style(
        weight=float(np.round(rng.uniform(0.65, 1.1), 1)),
        shift_mm=float(rng.normal(0, 2.0)),
        spread=float(rng.uniform(0.92, 1.0)),
        letter=float(rng.choice([1.0, rng.uniform(0.78, 1.0)])),
        banded=bool(rng.random() < 0.7),
        frame=bool(rng.random() < 0.9),
        bolts=bool(rng.random() < 0.5),
    )


def draw(
    rng: np.random.Generator | None,
    format_name: str,
    *,
    text: str,
    glyphs: GlyphSource = glyph_mask,
) -> FlatPlate:
    """Draw a plate of Russia or a neighbour; see `workshop.rendering.country.Renderer`.

    Raises:
        ValueError: The format is unknown, or the text does not fit it.
    """
    if format_name.startswith("ru_"):
        return russia.draw(rng, format_name, text=text, glyphs=glyphs)
    if format_name.startswith("kz_"):
        plate = kazakhstan.draw(rng, format_name, text=text[1:], glyphs=glyphs)
        return FlatPlate(plate.picture, text, format_name)
    pattern = _pattern_of(format_name, text)
    style = random_style(rng) if rng else Style()
    field = Field.of(SIZE_MM, WHITE, BLACK, glyphs=glyphs, weight=style.weight)
    _draw_row(field, style, format_name[:2], pattern, text)
    if style.frame:
        field.rectangle(4, 4, SIZE_MM[0] - 4, SIZE_MM[1] - 4)
    for x_mm in (SIZE_MM[0] * 0.25, SIZE_MM[0] * 0.75) if style.bolts else ():
        field.dot(x_mm, 10, 3.5)
    return FlatPlate(field.plate, text, format_name)


def _pattern_of(format_name: str, text: str) -> str:
    """Return the pattern of a format that a text with a sign has."""
    kinds = "".join("0" if char.isdigit() else "A" if char.isascii() else SIGN for char in text)
    for pattern in PATTERNS.get(format_name, ()):
        places = "".join(place for place in pattern if place in PLACES)
        if kinds == places.replace(BELOW, SIGN):
            return pattern
    pattern_names = " or ".join(PATTERNS.get(format_name, ())) or "no plate here"
    raise ValueError(f"{format_name} of a neighbour has {pattern_names}")


def _draw_row(field: Field, style: Style, code: str, pattern: str, text: str) -> None:
    """Draw characters, sign, dashes and borders from left to right, evenly spread."""
    left, right = 10.0, SIZE_MM[0] - 10
    total = sum(ADVANCES.get(place, 1.0) for place in pattern)
    pitch = min(58.0, (right - left) / total) * style.spread
    spare = right - left - pitch * total
    x_mm = left + (spare / 2 if pattern[0] == "0" else 0)
    chars = iter(text)
    for index, place in enumerate(pattern):
        advance = ADVANCES.get(place, 1.0) * pitch
        char = next(chars) if place in PLACES else ""
        if place == SIGN:
            at_mm = right - advance if index == len(pattern) - 1 else x_mm
            _draw_sign(field, style, code, at_mm, 0.86 * advance)
            x_mm += spare / 2
        elif place == BELOW:
            _draw_flag(field, code, (left + 6, 72, left + 0.9 * pitch, 98))
            field.row(code.upper(), (left + pitch, left + 2 * pitch), 98, 26)
        elif char:
            bottom, tall = (66, 52.0) if BELOW in pattern[index:] else (95, 78.0)
            tall *= style.letter if place == "A" else 1.0
            middle = x_mm + advance / 2 + style.shift_mm
            field.character(char, middle, bottom, tall, room_mm=0.9 * pitch)
        else:
            _draw_line(field, place, x_mm, advance)
        x_mm += advance


def _draw_line(field: Field, place: str, x_mm: float, wide_mm: float) -> None:
    """Draw a border or a dash; of a space, nothing."""
    middle = x_mm + wide_mm / 2
    if place == BORDER:
        field.rectangle(middle, 4, middle, SIZE_MM[1] - 4)
    elif place == "-":
        field.fill(x_mm + 0.15 * wide_mm, 52, x_mm + 0.85 * wide_mm, 61, colour=BLACK)


def _draw_sign(field: Field, style: Style, code: str, left_mm: float, wide_mm: float) -> None:
    """Draw the flag over the country's code, some on a blue band."""
    is_banded = code == "ge" or (code == "ua" and style.banded)
    if is_banded:
        field.fill(4, 4, left_mm + wide_mm + 2, SIZE_MM[1] - 4, colour=SIGN_BLUE)
    _draw_flag(field, code, (left_mm, 20, left_mm + wide_mm, 48))
    letters = Field(field.plate, WHITE if is_banded else BLACK, field.glyphs, field.weight)
    letters.row(code.upper(), (left_mm, left_mm + wide_mm), 92, 28)


def _draw_flag(field: Field, code: str, xyxy_mm: tuple[float, float, float, float]) -> None:
    """Draw stripes, and a cross or a sun on them."""
    left, top, right, bottom = xyxy_mm
    y_mm = top
    for colour, share in FLAGS[code]:
        below = y_mm + share * (bottom - top)
        field.fill(left, y_mm, right, below, colour=colour)
        y_mm = below
    x_mm, y_mm = (left + right) / 2, (top + bottom) / 2
    if code == "ge":
        field.fill(x_mm - 3, top, x_mm + 3, bottom, colour=RED)
    if code == "kg":
        field.fill(x_mm - 6, y_mm - 6, x_mm + 6, y_mm + 6, colour=YELLOW)
