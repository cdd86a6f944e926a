"""Flat Russian number plates of one line, drawn in the proportions of GOST R 50577.

A plate is 520 x 112 mm: the number on the left, behind a line the region code over RUS and the
flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from orchestrator.formats import kind_of
from rendering import painting
from rendering.country import FlatPlate
from rendering.glyphs import GLYPHS, glyph_mask
from rendering.painting import Colour, Field, GlyphSource

SIZE_MM = (520.0, 112.0)
LETTERS, CYRILLIC = "ABEKMHOPCTYX", "АВЕКМНОРСТУХ"  # noqa: RUF001 - Cyrillic meant
NUMBERS = {
    "ru_car": "LDDDLL",
    "ru_taxi": "LLDDD",
    "ru_trailer": "LLDDDD",
    "ru_police": "LDDDD",
    "ru_military": "DDDDLL",
    "ru_transit": "LLDDDL",
}
"""Letters and digits before the region code, of every format that is drawn."""

WHITE, BLACK, YELLOW, BLUE = (236, 238, 236), (28, 26, 26), (30, 200, 245), (170, 80, 30)
PAINT: dict[str, tuple[Colour, Colour]] = {
    "ru_taxi": (YELLOW, BLACK),
    "ru_police": (BLUE, WHITE),
    "ru_military": (BLACK, WHITE),
}
"""Background and ink; white and black unless listed."""


@dataclass(frozen=True)
class Style:
    """What differs from plate to plate of one format."""

    weight: float = 0.9
    shift_mm: float = 0.0
    spread: float = 1.0
    flag: bool = True
    frame: bool = True
    bolts_mm: tuple[tuple[float, float], ...] = ((22.0, 56.0), (498.0, 56.0))


def random_style(rng: np.random.Generator) -> Style:
    bolts: tuple[tuple[float, float], ...] = Style.bolts_mm
    if rng.random() < 0.3:
        bolts = tuple((float(rng.uniform(8, 512)), float(rng.choice([12, 100]))) for _ in "12")
    return Style(
        weight=float(np.round(rng.uniform(0.7, 1.15), 1)),
        shift_mm=float(rng.normal(0, 3)),
        spread=float(rng.uniform(0.94, 1.05)),
        flag=bool(rng.random() < 0.85),
        frame=bool(rng.random() < 0.9),
        bolts_mm=bolts if rng.random() < 0.85 else (),
    )


def draw(
    rng: np.random.Generator | None,
    format_name: str,
    *,
    text: str,
    glyphs: GlyphSource = glyph_mask,
) -> FlatPlate:
    """Draw a Russian plate; see `rendering.country.Renderer`.

    Raises:
        ValueError: It is none of the six formats of one line.
    """
    number = NUMBERS.get(format_name)
    if number is None:
        raise ValueError(f"wanted one of the Russian formats {', '.join(NUMBERS)}")
    head, code = text[: len(number)], text[len(number) :]
    if "".join(map(kind_of, head)) != number or not (code.isdigit() and len(code) in (2, 3)):
        raise ValueError(f"a Russian plate {format_name} has {number} and two or three digits")
    style = random_style(rng) if rng else Style()
    paper, ink = PAINT.get(format_name, (WHITE, BLACK))
    field = Field.of(SIZE_MM, paper, ink, glyphs=glyphs, weight=style.weight)
    border_mm = 385.0 if len(code) == 2 else 352.0
    _draw_number(field, style, head, border_mm)
    _draw_region(field, style, code, border_mm)
    for x_mm, y_mm in style.bolts_mm:
        field.dot(x_mm, y_mm, 4.5)
    if style.frame:
        field.rectangle(4, 4, 516, 108)
        field.rectangle(border_mm, 4, border_mm, 108)
    return FlatPlate(field.plate, text, format_name)


def _draw_number(field: Field, style: Style, head: str, border_mm: float) -> None:
    """Digits 76 mm and letters 58 mm high on one base line, spread over the number's field."""
    pitch = [54.0 if char.isdigit() else 50.0 for char in head]
    gaps = [8.0 if one.isdigit() != two.isdigit() else 0.0 for one, two in pairwise(head)]
    room = border_mm - 46
    factor = min(1.08, room / (sum(pitch) + sum(gaps))) * style.spread
    used = (sum(pitch) + sum(gaps)) * factor
    x_mm = 34 + (room - used) / 2 + style.shift_mm
    for char, advance, gap in zip(head, pitch, [*gaps, 0.0], strict=True):
        field.character(char, x_mm + advance * factor / 2, 94, 76 if char.isdigit() else 58)
        x_mm += (advance + gap) * factor


def _draw_region(field: Field, style: Style, code: str, border_mm: float) -> None:
    """Region digits 58 mm high, below them RUS and the flag."""
    widths = [GLYPHS[char].width * 0.58 + 6 for char in code]
    middle = (border_mm + 490) / 2 + style.shift_mm / 2
    x_mm = middle - sum(widths) / 2
    for char, width in zip(code, widths, strict=True):
        field.character(char, x_mm + width / 2, 70, 58)
        x_mm += width
    x_mm = middle - 46 + (0 if style.flag else 20)
    for char in "RUS":
        field.character(char, x_mm + 8, 98, 20)
        x_mm += 18
    if style.flag:
        _draw_flag(field, x_mm + 4)


def _draw_flag(field: Field, left_mm: float) -> None:
    """White, blue and red stripes, 34 x 20 mm in all."""
    left, right = (round(x * field.px_per_mm) for x in (left_mm, left_mm + 34))
    rows = [round(y * field.px_per_mm) for y in (78, 84.7, 91.3, 98)]
    stripes: tuple[Colour, ...] = (WHITE, (160, 60, 20), (40, 40, 200))
    for top, bottom, colour in zip(rows, rows[1:], stripes, strict=False):
        field.plate[top:bottom, left:right] = colour
    cv2.rectangle(field.plate, (left, rows[0]), (right, rows[-1]), field.ink, 1)


def load_font(path: Path) -> GlyphSource:
    """Take the characters from a font with Cyrillic capitals in plate shapes."""
    return painting.load_font(path, LETTERS, CYRILLIC)
