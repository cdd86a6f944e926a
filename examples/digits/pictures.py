"""Turns a picture file into the classifier's input."""

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.decoding import decode

SIDE_PX = 28
MAX_PIXELS = 4_000_000


def to_net(file: bytes) -> NDArray[np.float32]:
    """Decode a file to grey, resize and scale it: float32 [28, 28, 1] in [0, 1].

    Raises:
        PictureError: The bytes are no picture, or a picture of too many pixels.
    """
    grey = cv2.cvtColor(decode(file, max_pixels=MAX_PIXELS).numpy(), cv2.COLOR_BGR2GRAY)
    small = cv2.resize(grey, (SIDE_PX, SIDE_PX), interpolation=cv2.INTER_AREA)
    return small[:, :, None].astype(np.float32) / 255
