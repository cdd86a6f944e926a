"""Pages and signs with their texts, for a first look and tests; drawn in Pillow's default font."""

from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont


@dataclass(frozen=True)
class Page:
    """A picture with lines of text below one another, turned counter-clockwise."""

    lines: tuple[str, ...]
    size_wh: tuple[int, int]
    font_px: int = 28
    ink: str = "black"
    ground: str = "white"
    turn_deg: float = 0

    def encode(self) -> bytes:
        """Return the page as a PNG file."""
        image = Image.new("RGB", self.size_wh, self.ground)
        pen, font = ImageDraw.Draw(image), ImageFont.load_default(self.font_px)
        for row, line in enumerate(self.lines):
            xy = self.size_wh[0] / 12, (row + 0.5) * self.size_wh[1] / len(self.lines)
            pen.text(xy, line, self.ink, font, anchor="lm")
        turned = image.rotate(self.turn_deg, Image.Resampling.BICUBIC, fillcolor=self.ground)
        return cv2.imencode(".png", np.asarray(turned)[:, :, ::-1])[1].tobytes()


LETTER = ("Dear Ms. Miller,", "your order of 24 November 2026", "is on its way: parcel 7F-2210.")
PAGES = {
    "sign": Page(("EXIT ONLY",), (480, 160), 64, "white", "darkblue"),
    "turned sign": Page(("Platform 12", "to the trains"), (640, 480), 56, "black", "gold", 12),
    "letter": Page((*LETTER, "Harbour Books & Maps"), (800, 600)),
    "page": Page(LETTER * 12, (1240, 1754)),
    "blank": Page((), (640, 480)),
}
