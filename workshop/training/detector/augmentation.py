"""Night, blur, motion, noise and coarse compression, which the detector's photos lack."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import photograph, shrink

ROUND = 1.5
"""Width of a plate with its surroundings, in widths of the plate."""
NO_PLATE_PX = 80.0
"""Width of a plate that is assumed for pictures without a plate."""
COARSEST = 0.45
"""Smallest scale to which a picture is shrunk before it is enlarged again."""


class Weather:
    """Changes training pictures like bad light, speed and bad cameras; boxes do not move.

    It replaces yolov5's `Albumentations`, which is called after the pictures are turned and
    combined.
    """

    def __init__(self, share: float) -> None:
        """Set the share of changed pictures.

        Args:
            share: Share of the pictures that are changed, in [0, 1].
        """
        self.share = share

    def __call__(
        self, picture: Bgr, labels: NDArray[np.float64], p: float = 1.0
    ) -> tuple[Bgr, NDArray[np.float64]]:
        """Change a picture, or return it unchanged.

        Args:
            picture: (H, W, 3) uint8 BGR.
            labels: (N, 5) class and box xywh, relative to the picture's size.
            p: Factor on the share; a parameter of yolov5's `Albumentations`.
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
    """Shrink a picture and enlarge it again, like a camera's digital zoom."""
    size_wh: Sequence[int] = picture.shape[1::-1]
    small = shrink(picture, float(rng.uniform(COARSEST, 1)))
    return cv2.resize(small, size_wh, interpolation=cv2.INTER_LINEAR).astype(np.uint8)
