"""What the detector's photos lack: night, blur, motion, noise and coarse compression."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.picture_files import Bgr
from rendering.camera import photograph, shrink

ROUND = 1.5
"""Width of a plate and what is round it, in widths of the plate."""
NO_PLATE_PX = 80.0
"""Width that stands in where a picture has no plate."""
COARSEST = 0.45
"""Part of its size that a picture is shrunk to and enlarged from again, least."""


class Weather:
    """Changes training pictures as bad light, speed and bad cameras do; boxes stay where they are.

    Takes the place of yolov5's `Albumentations`, which is called after the pictures are turned and
    put together.
    """

    def __init__(self, share: float) -> None:
        """Begin.

        Args:
            share: Of the pictures that are changed, in [0, 1].
        """
        self.share = share

    def __call__(
        self, picture: Bgr, labels: NDArray[np.float64], p: float = 1.0
    ) -> tuple[Bgr, NDArray[np.float64]]:
        """Change a picture or leave it.

        Args:
            picture: (H, W, 3) uint8 BGR.
            labels: (N, 5) class and box xywh in parts of the picture.
            p: Taken because yolov5's own takes it.
        """
        # yolov5 draws from the global generator, which every epoch seeds anew.
        rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        if rng.random() >= self.share * p:
            return picture, labels
        wide = picture.shape[1]
        width_px = float(np.median(labels[:, 3])) * wide if len(labels) else NO_PLATE_PX
        if rng.random() < 0.25:
            picture = _coarsen(rng, picture)
        return photograph(rng, picture, max(8.0, ROUND * width_px)), labels


def _coarsen(rng: np.random.Generator, picture: Bgr) -> Bgr:
    """Shrink a picture and enlarge it again, as cameras' digital zoom does."""
    size_wh: Sequence[int] = picture.shape[1::-1]
    small = shrink(picture, float(rng.uniform(COARSEST, 1)))
    return cv2.resize(small, size_wh, interpolation=cv2.INTER_LINEAR).astype(np.uint8)
