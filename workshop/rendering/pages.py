"""Pages and signs with any text, drawn in Pillow's default font."""

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
