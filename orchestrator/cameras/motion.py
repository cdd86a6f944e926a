"""Motion in a camera's picture: changes of its brightness tell which frames are worth sending."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.cameras.configuration import Camera, Zone

SIZE_WH = (240, 135)
"""Size of the brightness pictures that are compared."""
LEVELS = 18.0
"""Least change of brightness that counts, of 255; the noise of cameras at night stays below."""
ADAPT_S = 8.0
"""Time constant of the background. A car that has stopped becomes background after some of them."""
HOLD_S = 3.0
"""The gate stays open so long after the last motion."""
STANDING_S = 10.0
"""While the gate is closed, one frame is sent in this time, so that standing cars stay known."""

Luma = npt.NDArray[np.uint8]
"""Brightness, (135, 240)."""


class MotionGate:
    """Opens when a part of the picture changes.

    A change of all pixels together is a change of light, and does not count.

    Args:
        camera: The camera, with its threshold, masks and zones.
    """

    def __init__(self, camera: Camera) -> None:
        self._threshold = camera.motion_threshold
        self._watched = _watched_pixels(camera)
        self._background: npt.NDArray[np.float32] | None = None
        self._seen_s = -math.inf
        self._moved_s = -math.inf

    def update(self, luma: Luma, time_s: float) -> bool:
        """Look at a frame; return whether the gate is open after it.

        Args:
            luma: Brightness of the frame.
            time_s: Time of the frame, seconds of any clock.
        """
        if self.changed_share(luma, time_s) >= self._threshold:
            self._moved_s = time_s
        return 0 <= time_s - self._moved_s <= HOLD_S  # a clock may be set back

    def changed_share(self, luma: Luma, time_s: float) -> float:
        """Return the share of watched pixels that differ from the background, and adapt it."""
        now = luma.astype(np.float32)
        background = self._background
        if background is None:
            self._background, self._seen_s = now, time_s
            return 1.0  # nothing is known yet
        difference = (now - background)[self._watched]
        if not difference.size:
            return 0.0
        light = np.median(difference)
        share = float(np.mean(np.abs(difference - light) > LEVELS))
        part = 1 - math.exp(-max(0.0, time_s - self._seen_s) / ADAPT_S)
        background += np.float32(part) * (now - background)
        self._seen_s = time_s
        return share


def _watched_pixels(camera: Camera) -> npt.NDArray[np.bool_]:
    """Return the pixels whose motion counts: inside zones if only they do, and outside masks."""
    width, height = SIZE_WH
    watched = np.ones((height, width), np.uint8)
    if camera.only_in_zones and camera.zones:
        watched = np.zeros((height, width), np.uint8)
        _fill(watched, camera.zones, 1)
    _fill(watched, camera.masks, 0)
    return watched.astype(bool)


def _fill(pixels: npt.NDArray[np.uint8], zones: Sequence[Zone], value: int) -> None:
    for zone in zones:
        points = np.array(zone.polygon, np.float32) * np.array(SIZE_WH, np.float32)
        cv2.fillPoly(pixels, [points.round().astype(np.int32)], (value,))
