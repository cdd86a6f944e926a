"""HEIC files, converted from other pictures."""

import io
from pathlib import Path

import pytest
from PIL import Image


def heic_of(picture: Path, orientation: int = 1) -> bytes:
    """Return a picture, at a quarter of its sides, as a HEIC file with an orientation in EXIF.

    Encoding a whole street would take two seconds.
    """
    pillow_heif = pytest.importorskip("pillow_heif", reason="needs the extra heic")
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x112] = orientation
    with Image.open(picture) as source:
        heic = pillow_heif.from_pillow(source.reduce(4))
    heic.save(file, quality=90, exif=exif.tobytes())
    return file.getvalue()
