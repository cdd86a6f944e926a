"""Picture files from a disk, as bytes or as base64 text, and their pixels.

A client has all that this module needs, except OpenCV for the pixels; `images` makes tensors of
them.
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
from orchestrator.imaging.segments import keep_pixels

Bgr = npt.NDArray[np.uint8]

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}
BASE64_OF = (b"/9j/", b"iVBOR", b"UklGR", b"Qk", b"data:")
"""Prefixes of the base64 text of a JPEG, PNG, WebP or BMP file, bare or as a data URL. No file of
these formats itself begins so."""
DATA_URL = re.compile(rb"data:image/[\w.+-]+;base64,")
MAX_NAME_CHARACTERS = 100  # characters of a path in a message
LINE_BREAKS = b"\r\n"

HEADER_BYTES = {b"\x89PNG": 33, b"\xff\xd8": 20}
"""Prefixes of PNG and JPEG files from OpenCV, and the position of our label in them. The label
follows the signature and the first chunk of a PNG, or the JFIF segment of a JPEG."""
DRAWING, CROP = b"orchestrator", b"orchestrator crop"
"""Labels of the files that we make: a drawing, which must not be recognised, or a plate that was
cut out."""
LABEL_BYTES = 128
"""Bytes to read from a file: more than its beginning with our label."""


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        PictureError: The file cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte
        reason = getattr(error, "strerror", None) or error
        raise PictureError(f"{shorten(path)}: cannot be read: {reason}") from error


def shorten(path: str | Path) -> str:
    """Return a path for an error message, cut short: some callers pass base64 instead."""
    name = str(path) or "''"
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS]}..."


def from_base64(encoded: bytes) -> bytes:
    """Return the picture file from its base64 text; return other bytes unchanged.

    JSON has no bytes, so clients without a library send base64 text.

    Args:
        encoded: A picture file, or its base64 text. The text may have line breaks, and may begin
            with `data:image/...;base64,`.

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


def unpack(encoded: bytes, name: str = "picture", *, is_checked: bool = False) -> Bgr:
    """Return the pixels of a picture file.

    Args:
        encoded: The file's bytes.
        name: Name of the picture in an error.
        is_checked: No part of the file costs too much; see `keep_pixels`.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: Some parts of it cost too much, or OpenCV cannot read it.
    """
    import cv2  # half of a client's size, so it is optional

    file = encoded if is_checked else keep_pixels(encoded, name)
    try:
        bgr = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise PictureError(f"encoded_image: damaged {name}") from error
    if bgr is None:
        raise PictureError(f"encoded_image: damaged {name}")
    return np.asarray(bgr, np.uint8)


def mark(picture: bytes, kind: bytes = DRAWING) -> bytes:
    """Return a PNG or JPEG file with our label for its kind."""
    at = next(size for begin, size in HEADER_BYTES.items() if picture.startswith(begin))
    return picture[:at] + _label(picture, kind) + picture[at:]


def is_drawing(path: Path) -> bool:
    """Tell whether a file has the label of a drawing, see `mark`."""
    return _is_marked(path, DRAWING)


def is_crop(path: Path) -> bool:
    """Tell whether a file has the label of a crop, see `mark`."""
    return _is_marked(path, CROP)


def _is_marked(path: Path, kind: bytes) -> bool:
    if path.suffix not in {".png", ".jpg"} or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(LABEL_BYTES)
    except OSError:  # the code that reads the picture gives the reason
        return False
    sizes = (size for begin, size in HEADER_BYTES.items() if head.startswith(begin))
    return any(head[size:].startswith(_label(head, kind)) for size in sizes)


def _label(file: bytes, kind: bytes) -> bytes:
    """Return the bytes of a label: a tEXt chunk of a PNG, or a comment of a JPEG."""
    if file.startswith(b"\xff\xd8"):
        return b"\xff\xfe" + (len(kind) + 2).to_bytes(2, "big") + kind
    chunk = b"tEXtSoftware\0" + kind
    size, checksum = len(chunk) - 4, zlib.crc32(chunk)
    return size.to_bytes(4, "big") + chunk + checksum.to_bytes(4, "big")
