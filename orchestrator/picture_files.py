"""Picture files as they come: from a disk, as bytes, as base64 text; and their pixels.

A client has all that this needs; `images` makes tensors of the pixels.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.errors import PictureError

Bgr = npt.NDArray[np.uint8]

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}
BASE64_OF = (b"/9j/", b"iVBOR", b"UklGR", b"Qk", b"data:")
"""How the base64 text of a JPEG, PNG, WebP or BMP file begins, bare or as a data URL. No file of
these formats begins like that itself."""
DATA_URL = re.compile(rb"data:image/[\w.+-]+;base64,")
LINE_BREAKS = b"\r\n"


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        PictureError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PictureError(f"{path}: wanted a readable file, got {error.strerror}") from error


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
        PictureError: OpenCV cannot read it.
    """
    try:
        bgr = cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise PictureError(f"encoded_image: damaged {name}") from error
    if bgr is None:
        raise PictureError(f"encoded_image: damaged {name}")
    return np.asarray(bgr, np.uint8)
