"""Turns pictures upright, as the EXIF data of their files say.

OpenCV reads only the first segment of a JPEG that may hold EXIF data, which can be XMP, and none of
a WebP file. So its own turning is switched off, and all formats are turned here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.imaging.files import Bgr

MAX_ENTRIES = 200
"""Largest number of EXIF entries searched for the orientation; cameras write about 20."""
ORIENTATION = 0x112
LONG = 4
"""EXIF's type of numbers of four bytes. Some programs write the orientation so, not in two."""
UPRIGHT = 1
"""The orientation of a picture that is shown as it is stored."""
ON_ITS_SIDE = range(5, 9)
"""Orientations that exchange width and height: those with a turn by 90 or 270 degrees."""
TURNS = {
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


def turn_upright(bgr: Bgr, orientation: int) -> Bgr:
    """Return the pixels of a file upright.

    Args:
        bgr: uint8 [H, W, 3] BGR, or [H, W] grey, as they are stored.
        orientation: EXIF orientation of their file.

    Returns:
        The same array if there is nothing to turn.
    """
    import numpy as np

    turn = TURNS.get(orientation)
    if turn is None:
        return bgr
    is_exchanged, along_rows, along_columns = turn
    turned = bgr.swapaxes(0, 1) if is_exchanged else bgr
    return np.ascontiguousarray(turned[::along_rows, ::along_columns])


def orientation_of(exif: bytes) -> int:
    """Return the orientation in EXIF data, 1 to 8; 1 when there is none.

    Source: Exif 2.32, sections 4.5 and 4.6.4.
    """
    order = ORDERS.get(exif[:2])
    if order is None or len(exif) < 8:
        return UPRIGHT
    (first,) = struct.unpack_from(order + "I", exif, 4)
    count = int.from_bytes(exif[first : first + 2], "little" if order == "<" else "big")
    for at in range(first + 2, first + 2 + 12 * min(count, MAX_ENTRIES), 12):
        if at + 12 > len(exif):
            break
        tag, kind = struct.unpack_from(order + "HH", exif, at)
        if tag == ORIENTATION:
            (value,) = struct.unpack_from(order + ("I" if kind == LONG else "H"), exif, at + 8)
            return int(value) if 1 <= value <= 8 else UPRIGHT
    return UPRIGHT
