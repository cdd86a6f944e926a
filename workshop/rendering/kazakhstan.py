"""Flat Kazakh number plates of the series of 2012 and 1993, with one line and with two.

Sizes and positions are measured by eye: the standard ST RK 986 was not available. The formats file
lists other uncertainties.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from orchestrator.formats.layouts import BREAK, lines_of
from workshop.rendering.country import FlatPlate
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import Field, GlyphSource
from workshop.rendering.texts import kinds_of, plain

LONG_MM, SQUARE_MM = (520.0, 112.0), (280.0, 202.0)
LAYOUTS = {
    "kz_car": ("DDDLLLDD",),
    "kz_company": ("DDDLLDD",),
    "kz_foreign": ("LDDDDDD",),
    "kz_car_square": ("DDD/LLLDD",),
    "kz_company_square": ("DDD/LLDD",),
    "kz_1993": ("LDDDLLL", "LDDDLL"),
    "kz_1993_square": ("LDDD/LLL", "LDDD/LL"),
}
WHITE, BLACK, YELLOW = (238, 240, 238), (30, 26, 26), (40, 205, 245)
SKY, SUN = (190, 160, 20), (30, 210, 245)


@dataclass(frozen=True)
class Style:
    """Differences between plates of one format."""

    weight: float = 0.85
    shift_mm: float = 0.0
    frame: bool = True
    bolts: bool = False


def random_style(rng: np.random.Generator) -> Style:
    return Style(
        weight=float(np.round(rng.uniform(0.7, 1.05), 1)),
        shift_mm=float(rng.normal(0, 2.0)),
        frame=bool(rng.random() < 0.9),
        bolts=bool(rng.random() < 0.4),
    )


def draw(
    rng: np.random.Generator | None,
    format_name: str,
    *,
    text: str,
    glyphs: GlyphSource = glyph_mask,
) -> FlatPlate:
    """Draw a Kazakh plate; see `workshop.rendering.country.Renderer`.

    Raises:
        ValueError: The format is unknown, or the text does not fit it.
    """
    layouts = LAYOUTS.get(format_name, ())
    if kinds_of(text) not in layouts:
        layout_names = " or ".join(layouts) or f"one of the formats {', '.join(LAYOUTS)}"
        raise ValueError(f"a Kazakh plate {format_name} has {layout_names}")
    style = random_style(rng) if rng else Style()
    lines = lines_of(text)
    paper = YELLOW if format_name == "kz_foreign" else WHITE
    size_mm = SQUARE_MM if lines == 2 else LONG_MM
    field = Field.of(size_mm, paper, BLACK, glyphs=glyphs, weight=style.weight)
    paint = {
        (True, 1): _draw_old,
        (True, 2): _draw_old_square,
        (False, 1): _draw_new,
        (False, 2): _draw_new_square,
    }[format_name.startswith("kz_1993"), lines]
    paint(field, text, style.shift_mm)
    if style.frame:
        field.rectangle(4, 4, size_mm[0] - 4, size_mm[1] - 4)
    for x_mm in (size_mm[0] * 0.2, size_mm[0] * 0.8) if style.bolts else ():
        field.dot(x_mm, 10, 3.5)
    return FlatPlate(field.plate, plain(text), format_name, lines)


def _draw_new(field: Field, text: str, shift_mm: float) -> None:
    """Draw the flag over KZ, the number, and the region code after a vertical line."""
    head, region = text[:-2], text[-2:]
    _draw_country(field, 12, 20)
    spaced = f"{head[0]} {head[1:]}" if kinds_of(head[0]) == "L" else f"{head[:3]} {head[3:]}"
    half = 24.5 * len(spaced)
    field.row(spaced, (246 - half + shift_mm, 246 + half + shift_mm), 94, 76)
    field.row(region, (434 + shift_mm / 3, 510 + shift_mm / 3), 90, 66)
    field.rectangle(428, 4, 428, 108)


def _draw_new_square(field: Field, text: str, shift_mm: float) -> None:
    """Draw flag, KZ and digits above; letters, a vertical line and the region code below."""
    above, below = text.split(BREAK)
    letters, region = below[:-2], below[-2:]
    _draw_country(field, 12, 16)
    field.row(above, (82 + shift_mm, 256 + shift_mm), 94, 74)
    half = 28 * len(letters)
    field.row(letters, (98 - half + shift_mm, 98 + half + shift_mm), 188, 74)
    field.row(region, (194, 270), 184, 60)
    field.rectangle(188, 112, 188, 198)


def _draw_old(field: Field, text: str, shift_mm: float) -> None:
    """Draw the region's letter, the digits and the letters, all of one height."""
    spaced = f"{text[0]} {text[1:4]} {text[4:]}"
    half = 25.5 * len(spaced)
    field.row(spaced, (260 - half + shift_mm, 260 + half + shift_mm), 95, 78)


def _draw_old_square(field: Field, text: str, shift_mm: float) -> None:
    """Draw the region's letter and the digits above, the letters below."""
    above, below = text.split(BREAK)
    field.row(above, (14 + shift_mm, 266 + shift_mm), 94, 76)
    half = 30 * len(below)
    field.row(below, (140 - half + shift_mm, 140 + half + shift_mm), 188, 76)


def _draw_country(field: Field, left_mm: float, top_mm: float) -> None:
    """Draw the flag, a sun on light blue, and KZ below it."""
    field.fill(left_mm, top_mm, left_mm + 46, top_mm + 28, colour=SKY)
    middle = [round(x * field.px_per_mm) for x in (left_mm + 25, top_mm + 14)]
    cv2.circle(field.plate, middle, round(7 * field.px_per_mm), SUN, -1, cv2.LINE_AA)
    field.fill(left_mm + 3, top_mm, left_mm + 6, top_mm + 28, colour=SUN)
    field.row("KZ", (left_mm, left_mm + 46), top_mm + 66, 28)
