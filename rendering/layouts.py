"""Flat Russian number plates of one line, drawn in the proportions of GOST R 50577.

A plate is 520 x 112 mm: the number on the left, behind a line the region code over RUS and the
flag. `draw_plate` returns the picture of a new, clean plate seen straight on; what weather and
cameras do to it is in `camera.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from orchestrator.picture_files import Bgr
from rendering.glyphs import GLYPHS, Mask, glyph_mask

"""(H, W, 3) uint8 BGR."""
Colour = tuple[int, int, int]
"""Blue, green, red, 0 to 255."""
GlyphSource = Callable[[str, int, float], Mask]
"""`glyph_mask` or another source of characters: (character, height_px, weight) -> mask."""

PLATE_MM = (520.0, 112.0)
LETTERS = "ABEKMHOPCTYX"
DIGITS = "0123456789"
# Where a region's numbers ran out, its code is repeated with a digit before it.
# fmt: off
_WIDE_CODES = (
    101, 102, 103, 111, 113, 116, 118, 121, 122, 123, 124, 125, 126, 130, 134, 136, 138, 142, 147,
    150, 152, 154, 155, 156, 158, 159, 161, 163, 164, 172, 173, 174, 177, 178, 180, 181, 184, 185,
    186, 188, 190, 193, 196, 197, 198, 199, 250, 252, 277, 299, 323, 550, 702, 716, 725, 750, 754,
    761, 763, 774, 777, 790, 797, 799, 977,
)
# fmt: on
REGIONS = (
    *(f"{code:02d}" for code in range(1, 100) if code not in {20, 88, 90, 94}),
    *(str(code) for code in _WIDE_CODES),
)
"""Region codes in use."""
HEADS = {
    "ru_car": "LDDDLL",
    "ru_taxi": "LLDDD",
    "ru_trailer": "LLDDDD",
    "ru_police": "LDDDD",
    "ru_military": "DDDDLL",
    "ru_transit": "LLDDDL",
}
"""Letters and digits before the region code."""
SHORT_REGION = {"ru_trailer", "ru_military"}
"""Formats whose region code has two digits, never three."""
SHARES = {
    "ru_car": 0.78,
    "ru_taxi": 0.06,
    "ru_trailer": 0.05,
    "ru_police": 0.04,
    "ru_military": 0.04,
    "ru_transit": 0.03,
}
"""How often each format is drawn when the caller has no wish."""

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


def random_text(rng: np.random.Generator, format_name: str | None = None) -> tuple[str, str]:
    """Draw a format by `SHARES`, unless given, and a text that it allows.

    Letters and digits are drawn evenly, and so are region codes of two and of three digits.

    Returns:
        The text and the name of its format.
    """
    name = format_name or str(rng.choice(list(SHARES), p=list(SHARES.values())))
    pools = {"L": LETTERS, "D": DIGITS}
    head = "".join(rng.choice(list(pools[kind])) for kind in HEADS[name])
    digits = 2 if name in SHORT_REGION else int(rng.integers(2, 4))
    return head + str(rng.choice([code for code in REGIONS if len(code) == digits])), name


def draw_plate(
    text: str,
    format_name: str = "ru_car",
    *,
    style: Style = Style(),
    px_per_mm: float = 1.0,
    glyphs: GlyphSource = glyph_mask,
) -> Bgr:
    """Draw a clean plate seen straight on.

    Args:
        text: As on the plate, in Latin look-alikes, region code last.
        format_name: Chooses the colours and where the region code begins.
        style: What differs from plate to plate.
        px_per_mm: Scale of the picture.
        glyphs: Source of the characters.

    Returns:
        (112, 520, 3) uint8 BGR times the scale.
    """
    paper, ink = PAINT.get(format_name, (WHITE, BLACK))
    size_wh = [round(side * px_per_mm) for side in PLATE_MM]
    plate: Bgr = np.full((size_wh[1], size_wh[0], 3), paper, np.uint8)
    field = _Field(plate, ink, px_per_mm, style, glyphs)
    head = len(HEADS[format_name])
    border_mm = 385.0 if len(text) - head == 2 else 352.0
    _draw_number(field, text[:head], border_mm)
    _draw_region(field, text[head:], border_mm)
    for x_mm, y_mm in style.bolts_mm:
        field.dot(x_mm, y_mm, 4.5)
    if style.frame:
        field.rectangle(4, 4, 516, 108)
        field.rectangle(border_mm, 4, border_mm, 108)
    return plate


@dataclass(frozen=True)
class _Field:
    """A plate being drawn on; all measures are mm."""

    plate: Bgr
    ink: Colour
    px_per_mm: float
    style: Style
    glyphs: GlyphSource

    def character(self, char: str, centre_mm: float, bottom_mm: float, height_mm: float) -> float:
        """Paint one character and return its width."""
        height = max(2, round(height_mm * self.px_per_mm))
        mask = self.glyphs(char, height, self.style.weight)
        left = round(centre_mm * self.px_per_mm - mask.shape[1] / 2)
        left = min(max(left, 0), self.plate.shape[1] - mask.shape[1])
        top = round(bottom_mm * self.px_per_mm) - height
        place = self.plate[top : top + height, left : left + mask.shape[1]]
        alpha = mask[:, :, None].astype(np.float32) / 255
        place[:] = place * (1 - alpha) + np.array(self.ink, np.float32) * alpha
        return mask.shape[1] / self.px_per_mm

    def dot(self, x_mm: float, y_mm: float, radius_mm: float) -> None:
        centre = (round(x_mm * self.px_per_mm), round(y_mm * self.px_per_mm))
        cv2.circle(self.plate, centre, round(radius_mm * self.px_per_mm), self.ink, -1, cv2.LINE_AA)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float) -> None:
        first, last = (
            (round(x * self.px_per_mm), round(y * self.px_per_mm)) for x, y in ((x0, y0), (x1, y1))
        )
        pen = max(1, round(2.2 * self.px_per_mm))
        cv2.rectangle(self.plate, first, last, self.ink, pen, cv2.LINE_AA)


def _draw_number(field: _Field, head: str, border_mm: float) -> None:
    """Digits 76 mm and letters 58 mm high on one base line, spread over the number's field."""
    pitch = [54.0 if char.isdigit() else 50.0 for char in head]
    gaps = [8.0 if one.isdigit() != two.isdigit() else 0.0 for one, two in pairwise(head)]
    room = border_mm - 46
    factor = min(1.08, room / (sum(pitch) + sum(gaps))) * field.style.spread
    used = (sum(pitch) + sum(gaps)) * factor
    x_mm = 34 + (room - used) / 2 + field.style.shift_mm
    for char, advance, gap in zip(head, pitch, [*gaps, 0.0], strict=True):
        field.character(char, x_mm + advance * factor / 2, 94, 76 if char.isdigit() else 58)
        x_mm += (advance + gap) * factor


def _draw_region(field: _Field, code: str, border_mm: float) -> None:
    """Region digits 58 mm high, below them RUS and the flag."""
    widths = [GLYPHS[char].width * 0.58 + 6 for char in code]
    middle = (border_mm + 490) / 2 + field.style.shift_mm / 2
    x_mm = middle - sum(widths) / 2
    for char, width in zip(code, widths, strict=True):
        field.character(char, x_mm + width / 2, 70, 58)
        x_mm += width
    x_mm = middle - 46 + (0 if field.style.flag else 20)
    for char in "RUS":
        field.character(char, x_mm + 8, 98, 20)
        x_mm += 18
    if field.style.flag:
        _draw_flag(field, x_mm + 4)


def _draw_flag(field: _Field, left_mm: float) -> None:
    """White, blue and red stripes, 34 x 20 mm in all."""
    left, right = (round(x * field.px_per_mm) for x in (left_mm, left_mm + 34))
    rows = [round(y * field.px_per_mm) for y in (78, 84.7, 91.3, 98)]
    stripes: tuple[Colour, ...] = (WHITE, (160, 60, 20), (40, 40, 200))
    for top, bottom, colour in zip(rows, rows[1:], stripes, strict=False):
        field.plate[top:bottom, left:right] = colour
    cv2.rectangle(field.plate, (left, rows[0]), (right, rows[-1]), field.ink, 1)


def load_font(path: Path) -> GlyphSource:
    """Take the characters from a font with Cyrillic capitals in plate shapes.

    Args:
        path: TrueType file.

    Returns:
        A source for `draw_plate`; the weight is ignored.
    """
    from PIL import Image, ImageDraw, ImageFont

    cyrillic = dict(zip(LETTERS, "АВЕКМНОРСТУХ", strict=True))  # noqa: RUF001 - Cyrillic meant
    font = ImageFont.truetype(str(path), 200)
    cut: dict[str, Mask] = {}

    def mask(char: str, height_px: int, weight: float) -> Mask:
        if char not in cyrillic and not char.isdigit():
            return glyph_mask(char, height_px, weight)
        if char not in cut:
            sheet = Image.new("L", (300, 300), 0)
            ImageDraw.Draw(sheet).text((20, 20), cyrillic.get(char, char), font=font, fill=255)
            cut[char] = np.array(sheet.crop(sheet.getbbox()), np.uint8)
        width = max(1, round(cut[char].shape[1] * height_px / cut[char].shape[0]))
        scaled = cv2.resize(cut[char], (width, height_px), interpolation=cv2.INTER_AREA)
        return scaled.astype(np.uint8)

    return mask
