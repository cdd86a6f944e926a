"""The pixels of frames, upright as the service sees them."""

from __future__ import annotations

import sys

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.headers import check_file
from orchestrator.imaging.orientation import turn_upright


def decode_frame(jpeg: bytes, flag: int = cv2.IMREAD_COLOR) -> NDArray[np.uint8] | None:
    """Return the pixels of a JPEG file; None if it is damaged.

    The boxes of plates are in the pixels of the service. OpenCV finds the orientation of some files
    elsewhere than the service does, or not at all; then the boxes would lie on other parts.

    Args:
        jpeg: The file.
        flag: OpenCV's way to decode it, such as `cv2.IMREAD_GRAYSCALE`.
    """
    pixels = cv2.imdecode(np.frombuffer(jpeg, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
    if pixels is None:
        return None
    orientation = check_file(jpeg, max_pixels=sys.maxsize).orientation
    return turn_upright(pixels.astype(np.uint8, copy=False), orientation)
