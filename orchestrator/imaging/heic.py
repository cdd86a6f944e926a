"""Converts HEIC files, as phones write them, to JPEG. It needs the package pillow-heif.

Only programs that read a user's own files do this: the command line and the clients. The service
does not, because its decoders run in workers that may die, and this one would have to run in the
gateway.
"""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING

from orchestrator.errors import PictureError
from orchestrator.imaging.foreign_formats import HEIC, foreign_format_of

if TYPE_CHECKING:
    from pillow_heif import HeifFile

SUFFIXES = {".heic", ".heif"}
MAX_MB = 64
MAX_PIXELS = 50_000_000
"""Limit of the pixels of a picture, unless a server has another one."""
QUALITY = 95
HINT = "to read it, install the package pillow-heif (pip install pillow-heif)"
"""The extra `heic` has the package, too."""


def is_heic(file: bytes) -> bool:
    """Tell whether a file is a HEIC file by its first bytes."""
    return foreign_format_of(file) is HEIC


def can_read() -> bool:
    """Tell whether the package that reads HEIC files is installed."""
    return find_spec("pillow_heif") is not None


def to_jpeg(file: bytes, *, max_pixels: int = MAX_PIXELS) -> bytes:
    """Return the first picture of a HEIC file as a JPEG file.

    It is upright, as pillow-heif gives it, and has no EXIF data.

    Args:
        file: The HEIC file's bytes.
        max_pixels: Largest picture; it is checked before anything is decoded.

    Raises:
        PictureError: The package is not installed, or the file is damaged or too large.
    """
    if len(file) > MAX_MB << 20:
        raise PictureError(f"wanted a HEIC file of up to {MAX_MB} MB, got a larger one")
    if not can_read():
        raise PictureError(f"a HEIC file; {HINT}, or convert it to JPEG")
    import pillow_heif

    try:
        picture = pillow_heif.open_heif(file)
        _check_size(picture, max_pixels)
        jpeg = io.BytesIO()
        picture.to_pillow().convert("RGB").save(jpeg, "JPEG", quality=QUALITY, exif=b"")
    except (OSError, ValueError, RuntimeError, EOFError, SyntaxError) as error:
        raise PictureError(f"damaged HEIC file: {str(error).strip()}") from error
    return jpeg.getvalue()


def _check_size(picture: HeifFile, max_pixels: int) -> None:
    width, height = picture.size
    if width * height > max_pixels:
        raise PictureError(f"wanted up to {max_pixels:,} pixels, got {width}x{height}")
