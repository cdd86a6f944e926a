"""Flat Russian number plates of one line and of two, in the proportions of GOST R 50577.

A long plate is 520 x 112 mm. The number is on the left of a vertical line. On its right is the
region code, over RUS and the flag. Other plates have the code at the lower line's right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orchestrator.formats.layouts import BREAK, lines_of
from orchestrator.plates import CYRILLIC, LATIN
from workshop.rendering import painting
from workshop.rendering.country import FlatPlate
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import Field, GlyphSource
from workshop.rendering.russia_parts import (
    LETTER,
    LOOKS,
    SMALL_MM,
    US_MM,
    Look,
    Row,
    Size,
    Style,
    draw_code,
    draw_country,
    draw_row,
    random_style,
)
from workshop.rendering.texts import kinds_of, plain

BORDER_MM = {2: 385.0, 3: 352.0}
"""Left edge of the region's field of a plate of one line, by the number of the code's digits."""


def draw(
    rng: np.random.Generator | None,
    format_name: str,
    *,
    text: str,
    glyphs: GlyphSource = glyph_mask,
) -> FlatPlate:
    """Draw a Russian plate; see `workshop.rendering.country.Renderer`.

    Raises:
        ValueError: The format is not Russian, or the text does not fit the format.
    """
    look = LOOKS.get(format_name)
    if look is None:
        raise ValueError(f"wanted one of the Russian formats {', '.join(LOOKS)}")
    number, code = _part(text, format_name, look)
    style = random_style(rng) if rng else Style()
    sizes = (US_MM,) if number.endswith(BREAK) else look.sizes_mm
    size_mm = sizes[int(style.pick * len(sizes))]
    field = Field.of(size_mm, look.paper, look.ink, glyphs=glyphs, weight=style.weight)
    if lines_of(text) == 1:
        _draw_long(field, style, look, number, code)
    elif size_mm == US_MM:
        _draw_american(field, style, look, number, code)
    elif size_mm == SMALL_MM and not code:
        _draw_offroad(field, style, number)
    else:
        _draw_square(field, style, look, size_mm, number, code)
    for x, y in style.bolts if lines_of(text) == 1 else ():
        field.dot(x * size_mm[0], y * size_mm[1], 4.5)
    if style.frame:
        field.rectangle(4, 4, size_mm[0] - 4, size_mm[1] - 4)
    return FlatPlate(field.plate, plain(text), format_name, lines_of(text))


def _part(text: str, format_name: str, look: Look) -> tuple[str, str]:
    """Split a text into the part before the last region code, and the code.

    Raises:
        ValueError: The text has another layout.
    """
    kinds = kinds_of(text)
    for number in look.numbers:
        plain_number = number.replace("R", "D")
        rest = kinds[len(plain_number) :]
        endings = ("",) if "R" in number else ("DD", "DDD")
        if kinds.startswith(plain_number) and rest in endings:
            return text[: len(plain_number)], text[len(plain_number) :]
    raise ValueError(
        f"a Russian plate {format_name} has {' or '.join(look.numbers)} and two or three digits"
    )


def _draw_long(field: Field, style: Style, look: Look, number: str, code: str) -> None:
    """Draw one line: digits 76 mm and letters 58 mm high, a border, and the code 58 mm high."""
    border_mm = BORDER_MM[max(2, len(code))]
    if look.code_paper:
        field.fill(border_mm, 4, 516, 108, colour=look.code_paper)
    draw_row(field, style, number, row_of_number(len(code)))
    middle_mm = (border_mm + 490) / 2 + style.shift_mm / 2
    draw_code(field, code, middle_mm, 70, 58)
    draw_country(field, middle_mm, 98, 20, flag=look.has_flag and style.flag)
    if style.frame:
        field.rectangle(border_mm, 4, border_mm, 108)


def row_of_number(digits: int) -> Row:
    """Return the place of the number on a plate of one line, by the digits of the region code."""
    return Row(34, BORDER_MM[max(2, digits)] - 12, 94, 76)


def _draw_american(field: Field, style: Style, look: Look, number: str, code: str) -> None:
    """Draw the whole number above; draw the code, RUS and the flag side by side below."""
    draw_row(field, style, plain(number), Row(14, US_MM[0] - 14, 84, 76))
    draw_code(field, code, 128 + style.shift_mm, 143, 58)
    draw_country(field, 246, 143, 20, flag=look.has_flag and style.flag)


def _draw_offroad(field: Field, style: Style, number: str) -> None:
    """Draw letters and region code above, digits below."""
    above, below = number.split(BREAK)
    width, height = SMALL_MM
    draw_row(field, style, above[:2], Row(10, 0.5 * width, 0.45 * height, 56))
    draw_code(field, above[2:], 0.75 * width, 0.36 * height, 40)
    draw_country(field, 0.75 * width, 0.49 * height, 14, flag=False)
    draw_row(field, style, below, Row(10, width - 10, 0.92 * height, 56))


def _draw_square(
    field: Field, style: Style, look: Look, size_mm: Size, number: str, code: str
) -> None:
    """Draw two lines of equal height, with the code over RUS at the right of the lower one."""
    above, below = number.split(BREAK)
    width, height = size_mm
    tall = min(76, 0.43 * height, 0.31 * width)
    draw_row(field, style, above, Row(10, width - 10, 0.265 * height + 0.5 * tall, tall))
    border = (0.54 if len(code) == 2 else 0.46) * width
    bottom = 0.745 * height + 0.5 * LETTER * tall
    draw_row(field, style, below, Row(10, border - 4, bottom, tall))
    middle = (border + width - 6) / 2 + style.shift_mm / 3
    draw_code(field, code, middle, bottom - 0.22 * tall, 0.66 * tall)
    flag = look.has_flag and style.flag
    draw_country(field, middle, bottom + 0.05 * tall, 0.22 * tall, flag=flag)
    if style.border:
        field.rectangle(border, height / 2, width - 4, height - 4)


def load_font(path: Path) -> GlyphSource:
    """Take the characters from a font with Cyrillic capitals in plate shapes."""
    return painting.load_font(path, LATIN, CYRILLIC)
