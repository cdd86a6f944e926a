"""Picture files as they come: from a disk or as bytes; and their pixels.

A client has all that this needs; `images` makes tensors of the pixels.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.errors import PictureError

Bgr = npt.NDArray[np.uint8]

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        PictureError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PictureError(f"{path}: wanted a readable file, got {error.strerror}") from error


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
