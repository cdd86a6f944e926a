"""Picture files as they come: from a disk, as bytes, as base64 text; and their pixels.

A client has all that this needs, except OpenCV for the pixels; `images` makes tensors of them.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from orchestrator.errors import PictureError
from orchestrator.picture_parts import keep_pixels

Bgr = npt.NDArray[np.uint8]

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}
BASE64_OF = (b"/9j/", b"iVBOR", b"UklGR", b"Qk", b"data:")
"""How the base64 text of a JPEG, PNG, WebP or BMP file begins, bare or as a data URL. No file of
these formats begins like that itself."""
DATA_URL = re.compile(rb"data:image/[\w.+-]+;base64,")
LONGEST_NAME = 100  # of a path in a message
LINE_BREAKS = b"\r\n"

HEADER_BYTES = {b"\x89PNG": 33, b"\xff\xd8": 20}
"""How a PNG and a JPEG file of OpenCV begin, and where what it says of itself stands: behind the
signature and the first chunk of a PNG, behind the JFIF segment of a JPEG."""
DRAWING, CROP = b"orchestrator", b"orchestrator crop"
"""What a file that we made calls itself: a drawing, which is no picture to recognise, or a plate
that was cut out of one."""
LABEL_BYTES = 128
"""More than the beginning of a file that we made, with its label."""


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        PictureError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # the latter: a null byte
        reason = getattr(error, "strerror", None) or error
        raise PictureError(f"{shorten(path)}: cannot be read: {reason}") from error


def shorten(path: str | Path) -> str:
    """Return a path as an error names it: callers pass base64 for one, too."""
    name = str(path) or "''"
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def from_base64(encoded: bytes) -> bytes:
    """Return the picture file that base64 text stands for; other bytes as they are.

    JSON has no bytes: a caller without a library sends the text.

    Args:
        encoded: A picture file, or its base64 text, with or without line breaks, maybe behind
            `data:image/...;base64,`.

    Raises:
        PictureError: The text is damaged.
    """
    if not encoded.startswith(BASE64_OF):
        return encoded
    prefix = DATA_URL.match(encoded)
    text = encoded[prefix.end() :] if prefix else encoded
    try:
        return base64.b64decode(text.translate(None, LINE_BREAKS), validate=True)
    except binascii.Error as error:
        raise PictureError(
            f"encoded_image: wanted the base64 text of a picture file, "
            f"got {len(encoded)} damaged characters ({error})"
        ) from error


def unpack(encoded: bytes, name: str = "picture") -> Bgr:
    """Return the pixels of a picture file.

    Args:
        encoded: The file's bytes.
        name: What to call it in an error.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: It has parts that cost too much, or OpenCV cannot read it.
    """
    import cv2  # half of a client's size; whoever unpacks nothing does without

    file = keep_pixels(encoded, name)
    try:
        bgr = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise PictureError(f"encoded_image: damaged {name}") from error
    if bgr is None:
        raise PictureError(f"encoded_image: damaged {name}")
    return np.asarray(bgr, np.uint8)


def mark(made: bytes, kind: bytes = DRAWING) -> bytes:
    """Return a PNG or JPEG file that says of itself what of ours it is."""
    at = next(size for begin, size in HEADER_BYTES.items() if made.startswith(begin))
    return made[:at] + _label(made, kind) + made[at:]


def is_drawing(path: Path) -> bool:
    """Tell whether a file is a drawing that `mark` marked."""
    return _is_marked(path, DRAWING)


def is_crop(path: Path) -> bool:
    """Tell whether a file is a crop that `mark` marked."""
    return _is_marked(path, CROP)


def _is_marked(path: Path, kind: bytes) -> bool:
    if path.suffix not in {".png", ".jpg"} or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(LABEL_BYTES)
    except OSError:  # who reads the picture says why
        return False
    sizes = (size for begin, size in HEADER_BYTES.items() if head.startswith(begin))
    return any(head[size:].startswith(_label(head, kind)) for size in sizes)


def _label(file: bytes, kind: bytes) -> bytes:
    """Return what a file says that it is: a tEXt chunk of a PNG, a comment of a JPEG."""
    if file.startswith(b"\xff\xd8"):
        return b"\xff\xfe" + (len(kind) + 2).to_bytes(2, "big") + kind
    chunk = b"tEXtSoftware\0" + kind
    size, checksum = len(chunk) - 4, zlib.crc32(chunk)
    return size.to_bytes(4, "big") + chunk + checksum.to_bytes(4, "big")
