"""Reads from a file's EXIF data whether its picture lies on its side, as OpenCV does."""

from __future__ import annotations

import struct

from orchestrator.imaging.headers import Header
from orchestrator.imaging.segments import JPEG, PNG

EXIF_BYTES = 6
"""Bytes of a JPEG's segment before its EXIF data: `Exif` and two zeros."""
MAX_CHUNKS = 1000
"""Largest number of chunks of a PNG that are searched for EXIF data, from its pixels on."""
MAX_ENTRIES = 200
"""Largest number of EXIF entries searched for the orientation; cameras write about 20."""
ORIENTATION = 0x112
ON_ITS_SIDE = range(5, 9)
"""Orientations that exchange width and height: those with a turn by 90 or 270 degrees."""
ORDERS = {b"II": "<", b"MM": ">"}


def upright_wh(file: bytes, header: Header) -> tuple[int, int]:
    """Return width and height of a picture as it is decoded: EXIF orientation applied.

    OpenCV applies the orientation of JPEG and PNG files, not that of WebP files.

    Args:
        file: A JPEG, PNG, WebP or BMP file.
        header: The file's header.
    """
    wh = (header.width, header.height)
    return wh[::-1] if read_orientation(file, header) in ON_ITS_SIDE else wh


def read_orientation(file: bytes, header: Header) -> int:
    """Return the EXIF orientation of a picture file, 1 to 8; 1 when it tells none.

    Args:
        file: A JPEG, PNG, WebP or BMP file.
        header: The file's header.
    """
    return orientation_of(_exif_of(file, header.exif_at)) if header.exif_at else 1


def orientation_of(exif: bytes) -> int:
    """Return the orientation in EXIF data, 1 to 8; 1 when there is none.

    Source: Exif 2.32, sections 4.5 and 4.6.4.
    """
    order = ORDERS.get(exif[:2])
    if order is None or len(exif) < 8:
        return 1
    (first,) = struct.unpack_from(order + "I", exif, 4)
    count = int.from_bytes(exif[first : first + 2], "little" if order == "<" else "big")
    for at in range(first + 2, first + 2 + 12 * min(count, MAX_ENTRIES), 12):
        if at + 12 > len(exif):
            break
        tag, value = struct.unpack_from(order + "H6xH", exif, at)
        if tag == ORIENTATION:
            return int(value) if 1 <= value <= 8 else 1
    return 1


def _exif_of(file: bytes, at: int) -> bytes:
    """Return the EXIF data of a JPEG or PNG file; empty when there is none.

    Args:
        file: The file.
        at: Its header's `exif_at`.
    """
    if file.startswith(JPEG):
        size = int.from_bytes(file[at : at + 2], "big")
        return file[at + 2 + EXIF_BYTES : at + size]
    return _exif_of_png(file, at) if file.startswith(PNG) else b""


def _exif_of_png(png: bytes, at: int) -> bytes:
    for _ in range(MAX_CHUNKS):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        if kind == b"eXIf":
            return png[at + 8 : at + 8 + size]
        at += size + 12
        if at >= len(png):
            break
    return b""
