"""The digits that scikit-learn ships, 8x8 pixels each, as picture files."""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

HELD_OUT = 450
"""The last ones of the set: not drawn by chance, which would mix the writers."""


class Samples(NamedTuple):
    """N digits, float64 [N, 8, 8] from 0 to 16, and what they are, int64 [N]."""

    images: NDArray[np.float64]
    classes: NDArray[np.int64]


def load_samples() -> tuple[Samples, Samples]:
    """Return the digits to train with and those held out."""
    parts = slice(None, -HELD_OUT), slice(-HELD_OUT, None)
    digits = load_digits()
    first, last = (Samples(digits.images[part], digits.target[part]) for part in parts)
    return first, last


def to_file(image: NDArray[np.float64], side_px: int = 28, suffix: str = ".png") -> bytes:
    """Enlarge a digit, [8, 8] from 0 to 16, and write it as a picture file."""
    grey = (image * (255 / 16)).round().astype(np.uint8)
    large = cv2.resize(grey, (side_px, side_px), interpolation=cv2.INTER_CUBIC)
    return cv2.imencode(suffix, large)[1].tobytes()
