"""Draws JPEG files of all kinds that a decoder may treat in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
    return {kind: save(rgb) for kind, save in KINDS.items()}


def _save(picture: Image.Image, **options: Any) -> bytes:
    file = BytesIO()
    picture.save(file, "JPEG", quality=90, **options)
    return file.getvalue()


def _turn(picture: Image.Image, number: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = number
    return _save(picture, exif=exif)


def _cut(picture: Image.Image, end: bytes = b"") -> bytes:
    whole = _save(picture)
    return whole[: len(whole) // 2] + end


KINDS: Mapping[str, Callable[[Image.Image], bytes]] = {
    "baseline": _save,
    "every pixel in colour": partial(_save, subsampling=0),
    "half the columns in colour": partial(_save, subsampling=1),
    "progressive": partial(_save, progressive=True),
    "grey": lambda rgb: _save(rgb.convert("L")),
    "four components": lambda rgb: _save(rgb.convert("CMYK")),
    "RGB components": partial(_save, keep_rgb=True),
    "restart markers": partial(_save, restart_marker_blocks=4),
    "cut off": _cut,
    "cut off, with an end": partial(_cut, end=b"\xff\xd9"),
    "more bytes behind its end": lambda rgb: _save(rgb) + bytes(8),
    **{f"orientation {number}": partial(_turn, number=number) for number in range(1, 9)},
}
"""Writes a picture as a file of each kind."""
