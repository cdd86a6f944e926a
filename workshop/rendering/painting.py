"""Drawing on a flat number plate: characters, lines and bolts, in millimetres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from orchestrator.errors import SettingsError
from orchestrator.imaging.files import Bgr
from workshop.rendering.glyphs import Mask, glyph_mask

Colour = tuple[int, int, int]
"""Blue, green, red, 0 to 255."""
GlyphSource = Callable[[str, int, float], Mask]
"""Source of characters, as `glyph_mask` is: (character, height_px, weight) -> mask."""

PX_PER_MM = 1.5
"""Scale of the pictures of flat plates."""


@dataclass(frozen=True)
class Field:
    """A flat plate to draw on; all measures are mm.

    Attributes:
        plate: (H, W, 3) uint8 BGR; the methods paint on it.
        ink: Colour of the characters and lines.
        glyphs: Source of the characters.
        weight: Factor on the width of their strokes.
        px_per_mm: Scale of the picture.
    """

    plate: Bgr
    ink: Colour
    glyphs: GlyphSource = glyph_mask
    weight: float = 0.9
    px_per_mm: float = PX_PER_MM

    @classmethod
    def of(
        cls,
        size_mm: tuple[float, float],
        paper: Colour,
        ink: Colour,
        *,
        glyphs: GlyphSource = glyph_mask,
        weight: float = 0.9,
    ) -> Field:
        """Return an empty plate of a given width and height."""
        width, height = (round(side * PX_PER_MM) for side in size_mm)
        return cls(np.full((height, width, 3), paper, np.uint8), ink, glyphs, weight)

    def character(
        self,
        char: str,
        centre_mm: float,
        bottom_mm: float,
        height_mm: float,
        *,
        room_mm: float | None = None,
    ) -> None:
        """Paint one character; move it sideways if it would cross the plate's edge.

        A character wider than `room_mm` is narrowed to it.
        """
        height = max(2, round(height_mm * self.px_per_mm))
        mask = self.glyphs(char, height, self.weight)
        room = round(room_mm * self.px_per_mm) if room_mm else mask.shape[1]
        if room < mask.shape[1]:
            mask = cv2.resize(mask, (room, height), interpolation=cv2.INTER_AREA).astype(np.uint8)
        left = round(centre_mm * self.px_per_mm - mask.shape[1] / 2)
        left = min(max(left, 0), self.plate.shape[1] - mask.shape[1])
        top = round(bottom_mm * self.px_per_mm) - height
        place = self.plate[top : top + height, left : left + mask.shape[1]]
        alpha = mask[:, :, None].astype(np.float32) / 255
        place[:] = place * (1 - alpha) + np.array(self.ink, np.float32) * alpha

    def row(
        self, text: str, span_mm: tuple[float, float], bottom_mm: float, height_mm: float
    ) -> None:
        """Paint characters of one height, evenly spread between two edges; spaces stay empty."""
        left, right = span_mm
        pitch = (right - left) / len(text)
        for index, char in enumerate(text):
            middle = left + pitch * (index + 0.5)
            if char != " ":
                self.character(char, middle, bottom_mm, height_mm, room_mm=0.92 * pitch)

    def dot(self, x_mm: float, y_mm: float, radius_mm: float) -> None:
        """Paint a round bolt or hole."""
        centre = (round(x_mm * self.px_per_mm), round(y_mm * self.px_per_mm))
        cv2.circle(self.plate, centre, round(radius_mm * self.px_per_mm), self.ink, -1, cv2.LINE_AA)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Paint a frame, or a line if the rectangle has no width."""
        first, last = (
            (round(x * self.px_per_mm), round(y * self.px_per_mm)) for x, y in ((x0, y0), (x1, y1))
        )
        pen = max(1, round(2.2 * self.px_per_mm))
        cv2.rectangle(self.plate, first, last, self.ink, pen, cv2.LINE_AA)

    def fill(self, x0: float, y0: float, x1: float, y1: float, *, colour: Colour) -> None:
        """Fill a rectangle."""
        left, top, right, bottom = (round(side * self.px_per_mm) for side in (x0, y0, x1, y1))
        self.plate[top:bottom, left:right] = colour

    def polygon(self, points_mm: Sequence[tuple[float, float]], *, colour: Colour) -> None:
        """Paint a filled polygon."""
        corners = np.round(np.array(points_mm) * self.px_per_mm * 16).astype(np.int32)
        cv2.fillPoly(self.plate, [corners], colour, cv2.LINE_AA, 4)


def fix_weight(glyphs: GlyphSource, weight: float) -> GlyphSource:
    """Return a source whose strokes always have this weight; it ignores the requested one."""
    return lambda char, height_px, _: glyphs(char, height_px, weight)


def load_font(path: Path, letters: str, font_letters: str | None = None) -> GlyphSource:
    """Take the characters from a font.

    Args:
        path: TrueType file.
        letters: Characters of plates that the font draws, besides digits.
        font_letters: The font's characters for `letters`, in the same order, if they differ, as
            Cyrillic ones do.

    Returns:
        A source that ignores the weight for the font's characters.

    Raises:
        SettingsError: The file is not a TrueType font.
    """
    from PIL import Image, ImageDraw, ImageFont

    letters_of_font = dict(zip(letters, font_letters or letters, strict=True))
    try:
        font = ImageFont.truetype(str(path), 200)
    except OSError as error:
        raise SettingsError(f"{path}: wanted a TrueType font, got: {error}") from error
    masks: dict[str, Mask] = {}

    def mask(char: str, height_px: int, weight: float) -> Mask:
        if char not in letters_of_font and not char.isdigit():
            return glyph_mask(char, height_px, weight)
        if char not in masks:
            sheet = Image.new("L", (300, 300), 0)
            ImageDraw.Draw(sheet).text(
                (20, 20), letters_of_font.get(char, char), font=font, fill=255
            )
            masks[char] = np.array(sheet.crop(sheet.getbbox()), np.uint8)
        width = max(1, round(masks[char].shape[1] * height_px / masks[char].shape[0]))
        scaled = cv2.resize(masks[char], (width, height_px), interpolation=cv2.INTER_AREA)
        return scaled.astype(np.uint8)

    return mask
