"""Turns pictures upright, as the EXIF data of their files say.

OpenCV reads only the first segment of a JPEG that may hold EXIF data, which can be XMP, and none of
a WebP file. So its own turning is switched off, and all formats are turned here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from orchestrator.imaging.headers import EXIF_NAME, Header
from orchestrator.imaging.segments import JPEG, PNG

if TYPE_CHECKING:
    from orchestrator.imaging.files import Bgr

MAX_CHUNKS = 1000
"""Largest number of chunks of a PNG that are searched for EXIF data, from its pixels on."""
MAX_ENTRIES = 200
"""Largest number of EXIF entries searched for the orientation; cameras write about 20."""
ORIENTATION = 0x112
ON_ITS_SIDE = range(5, 9)
"""Orientations that exchange width and height: those with a turn by 90 or 270 degrees."""
TURNED = {
    2: (False, 1, -1),
    3: (False, -1, -1),
    4: (False, -1, 1),
    5: (True, 1, 1),
    6: (True, 1, -1),
    7: (True, -1, -1),
    8: (True, -1, 1),
}
"""Turns by orientation: axes are exchanged, then the steps along rows and columns. Exif 2.32,
section 4.6.4."""
ORDERS = {b"II": "<", b"MM": ">"}


def upright_wh(file: bytes, header: Header) -> tuple[int, int]:
    """Return width and height of a picture as it is decoded: EXIF orientation applied.

    Args:
        file: A JPEG, PNG, WebP or BMP file.
        header: The file's header.
    """
    wh = (header.width, header.height)
    return wh[::-1] if read_orientation(file, header) in ON_ITS_SIDE else wh


def turn_upright(bgr: Bgr, file: bytes, header: Header) -> Bgr:
    """Return the pixels of a file upright.

    Args:
        bgr: uint8 [H, W, 3] BGR, as they are stored.
        file: A JPEG, PNG, WebP or BMP file.
        header: The file's header.

    Returns:
        The same array if there is nothing to turn.
    """
    import numpy as np

    turn = TURNED.get(read_orientation(file, header))
    if turn is None:
        return bgr
    is_exchanged, along_rows, along_columns = turn
    turned = bgr.transpose(1, 0, 2) if is_exchanged else bgr
    return np.ascontiguousarray(turned[::along_rows, ::along_columns])


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
    """Return the EXIF data of a JPEG, PNG or WebP file; empty when there is none.

    Args:
        file: The file.
        at: Its header's `exif_at`.
    """
    if file.startswith(JPEG):
        size = int.from_bytes(file[at : at + 2], "big")
        return file[at + 2 + len(EXIF_NAME) : at + size]
    if file.startswith(PNG):
        return _exif_of_png(file, at)
    size = int.from_bytes(file[at + 4 : at + 8], "little")
    return file[at + 8 : at + 8 + size].removeprefix(EXIF_NAME)  # some programs write the name


def _exif_of_png(png: bytes, at: int) -> bytes:
    for _ in range(MAX_CHUNKS):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        if kind == b"eXIf":
            return png[at + 8 : at + 8 + size]
        at += size + 12
        if at >= len(png):
            break
    return b""
