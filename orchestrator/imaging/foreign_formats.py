"""Names the format of a file that the service does not read, and how to convert it."""

from __future__ import annotations

import base64
from dataclasses import dataclass

RIFF_KIND = slice(8, 12)
BASE64_CHARACTERS = 64
"""Length of the beginning of a base64 text that shows the format of its file."""
BRANDS = slice(8, 40)
"""Place of a file's first brands, if it is of the family of MP4 (ISO 14496-12)."""


@dataclass(frozen=True)
class ForeignFormat:
    """A format that the service does not read.

    Attributes:
        name: With its article, `a GIF`.
        advice: How to get a picture from such a file.
    """

    name: str
    advice: str = "convert it to JPEG or PNG"


TIFF = ForeignFormat("a TIFF or a camera's raw")
JPEG_2000, JPEG_XL = ForeignFormat("a JPEG 2000"), ForeignFormat("a JPEG XL")
HEIC = ForeignFormat("a HEIC", "convert it to JPEG, as plates recognize does")
VIDEO = ForeignFormat("a video", "export a frame of it as JPEG, or try plates watch --once")
BY_PREFIX = {
    b"GIF8": ForeignFormat("a GIF", "export its first frame as PNG or JPEG"),
    b"II*\0": TIFF,
    b"MM\0*": TIFF,
    b"\0\0\0\x0cjP  ": JPEG_2000,
    b"\xff\x4f\xff\x51": JPEG_2000,
    b"\0\0\0\x0cJXL ": JPEG_XL,
    b"\xff\x0a": JPEG_XL,
    b"%PDF": ForeignFormat("a PDF", "export its page as PNG or JPEG"),
    b"8BPS": ForeignFormat("a Photoshop"),
    b"\x1aE\xdf\xa3": VIDEO,  # Matroska, WebM
}
"""Formats by the first bytes of their files."""
BY_BRAND = {
    **dict.fromkeys((b"avif", b"avis"), ForeignFormat("an AVIF")),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), HEIC),
    b"crx ": ForeignFormat("a camera's raw"),
}
"""Formats of the family of MP4, by one of their brands. Other brands are those of videos."""


def foreign_format_of(file: bytes) -> ForeignFormat | None:
    """Return the format of a file that is no JPEG, PNG, WebP or BMP; None for an unknown one."""
    for prefix, name in BY_PREFIX.items():
        if file.startswith(prefix):
            return name
    if file[4:8] == b"ftyp":
        brands = file[BRANDS]
        return next((name for brand, name in BY_BRAND.items() if brand in brands), VIDEO)
    return VIDEO if file[:4] == b"RIFF" and file[RIFF_KIND] == b"AVI " else None


def describe(file: bytes) -> str:
    """Return the kind of a file that cannot be read, and how to get a picture from it.

    Args:
        file: The file, or its base64 text.
    """
    foreign_format = foreign_format_of(file) or foreign_format_of(_decode_start(file))
    if foreign_format is None:
        return f"{len(file)} bytes that are none"
    return f"{foreign_format.name} file; {foreign_format.advice}"


def _decode_start(text: bytes) -> bytes:
    """Return the first bytes of a file from its base64 text; empty if it is none."""
    try:
        return base64.b64decode(text[:BASE64_CHARACTERS], validate=True)
    except ValueError:
        return b""
