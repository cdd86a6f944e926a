"""The digits that scikit-learn contains, 8x8 pixels each, as picture files."""

import cv2
import numpy as np
from numpy.typing import NDArray

LEARNT, HELD_OUT = slice(1347), slice(1347, None)
"""The training and the test digits. The last 450 are for the test, not a random choice, which would
mix the writers."""


def load_samples(part: slice) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return digits as files of 28x28 pixels, and their classes, int64 [N]."""
    from sklearn.datasets import load_digits  # takes a second

    digits = load_digits()
    return [to_file(image) for image in digits.images[part]], digits.target[part]


def to_file(image: NDArray[np.float64], side_px: int = 28, suffix: str = ".png") -> bytes:
    """Enlarge a digit, [8, 8] from 0 to 16, and write it as a picture file."""
    grey = (image * (255 / 16)).round().astype(np.uint8)
    large = cv2.resize(grey, (side_px, side_px), interpolation=cv2.INTER_CUBIC)
    return cv2.imencode(suffix, large)[1].tobytes()
