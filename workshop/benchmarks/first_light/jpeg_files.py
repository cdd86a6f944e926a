"""Draws JPEG files of all kinds that a decoder may treat in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import cv2
from PIL import Image

from workshop.benchmarks.pictures import render

ORIENTATION = 0x0112
"""The EXIF tag of the orientation."""
SIZE_WH = (641, 481)
"""Odd, so that the last pixels share their colour with none."""


def draw_files() -> Mapping[str, bytes]:
    """Return files by their kinds, each with the same street."""
    street = cv2.resize(render(4).bgr, SIZE_WH, interpolation=cv2.INTER_AREA)
    rgb = Image.fromarray(cv2.cvtColor(street, cv2.COLOR_BGR2RGB))
    whole = _save(rgb)
    return {
        "baseline": whole,
        "every pixel in colour": _save(rgb, subsampling=0),
        "half the columns in colour": _save(rgb, subsampling=1),
        "progressive": _save(rgb, progressive=True),
        "grey": _save(rgb.convert("L")),
        "four components": _save(rgb.convert("CMYK")),
        "RGB components": _save(rgb, keep_rgb=True),
        "restart markers": _save(rgb, restart_marker_blocks=4),
        "cut off": whole[: len(whole) // 2],
        "cut off, with an end": whole[: len(whole) // 2] + whole[-2:],
        "more bytes behind its end": whole + bytes(8),
        **{f"orientation {number}": _turn(rgb, number) for number in range(1, 9)},
    }


def _save(picture: Image.Image, **options: Any) -> bytes:
    file = BytesIO()
    picture.save(file, "JPEG", quality=90, **options)
    return file.getvalue()


def _turn(picture: Image.Image, number: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = number
    return _save(picture, exif=exif)
