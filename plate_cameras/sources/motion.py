"""Motion: tells from small grey pictures whether something moves, with a background that adapts.

Two comparisons are made. Pixels that differ from the background open the gate. After that, pixels
that differ from a picture of a second ago keep it open. So a car that stops does not keep it open.

Source: A. Manzanera, J. Richefeu, "A new motion detection algorithm based on sigma-delta background
estimation", 2007.
"""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from plate_cameras.configuration import Camera, Zone

LUMA_WH = (240, 135)
"""Size of the grey pictures."""
MIN_DIFFERENCE = 12.0
"""Grey levels by which a pixel must differ, above its own noise."""
NOISE_FACTOR = 3.0
MAX_NOISE = 12.0
"""Grey levels. A lane with much traffic looks like noise; with this limit, cars still stand out."""
ADAPTED_PER_S = 1.0
"""Grey levels a second by which background and noise follow the picture."""
MAX_STEP_S = 2.0
COMPARED_S = 1.0
"""Age at which the picture that movement is compared with is replaced."""
OPEN_S = 3.0
"""The gate closes this time after the last motion."""

Luma: TypeAlias = "npt.NDArray[np.uint8]"
"""(135, 240) grey levels."""
Region: TypeAlias = "npt.NDArray[np.bool_]"
"""(135, 240); true where motion counts."""


class MotionGate:
    """Open while something moves in a camera's frame.

    Args:
        threshold: Least share of the frame that must change; 0 keeps the gate open always.
        region: Part of the frame in which motion counts. It may be replaced at any time.
    """

    def __init__(self, threshold: float, region: Region) -> None:
        self._threshold = threshold
        self.region = region
        self._background: _Background | None = None
        self._reference: tuple[Luma, float] | None = None
        self._last_motion_s = float("-inf")
        self.is_open = threshold == 0
        self.share = 0.0
        """Share of the frame that changed in the last picture."""

    def update(self, luma: Luma, time_s: float) -> bool:
        """Take a picture, and tell whether the gate is open.

        Args:
            luma: The picture.
            time_s: Its time. After a step back, the gate starts anew.
        """
        if self._threshold == 0:
            return True
        if self._background is None or time_s < self._background.time_s:
            self.reset(luma, time_s)
            return self.is_open
        reference = self._take_reference(luma, time_s) if self.is_open else None
        self.share = self._share(self._background.find_changes(luma, reference))
        self._background.adapt(luma, time_s)
        if self.share >= self._threshold:
            self._last_motion_s = time_s
            self._open(luma, time_s)
        elif self.is_open and time_s - self._last_motion_s > OPEN_S:
            self.reset(luma, time_s)
        return self.is_open

    def reset(self, luma: Luma, time_s: float) -> None:
        """Close the gate and take a picture as the background. Vehicles in it count as resting."""
        self.is_open = self._threshold == 0
        self._reference = None
        if self._background is None:
            self._background = _Background(luma, time_s)
        self._background.replace(luma, time_s)

    def _open(self, luma: Luma, time_s: float) -> None:
        if not self.is_open:
            self.is_open, self._reference = True, (luma, time_s)

    def _take_reference(self, luma: Luma, time_s: float) -> Luma:
        """Return the picture to compare with. An old one is replaced by the newest afterwards."""
        reference, at_s = self._reference or (luma, time_s)
        if time_s - at_s >= COMPARED_S or self._reference is None:
            self._reference = (luma, time_s)
        return reference

    def _share(self, changes: npt.NDArray[np.uint8]) -> float:
        """Return the share of changed pixels, without single ones: those are rain or noise."""
        areas = cv2.morphologyEx(changes, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8))
        return float(np.count_nonzero(areas[self.region])) / areas.size


class _Background:
    """The median of the picture over time, and of its noise, pixel by pixel."""

    def __init__(self, luma: Luma, time_s: float) -> None:
        self._noise = np.zeros(luma.shape, np.float32)
        self.replace(luma, time_s)

    def replace(self, luma: Luma, time_s: float) -> None:
        self._level = luma.astype(np.float32)
        self.time_s = time_s

    def find_changes(self, luma: Luma, reference: Luma | None) -> npt.NDArray[np.uint8]:
        """Return 1 for pixels that differ by more than their noise.

        The median difference is left out: the light of the whole scene has changed by it.

        Args:
            luma: The picture.
            reference: The picture to compare with; None for the background.
        """
        difference = luma - (self._level if reference is None else reference.astype(np.float32))
        difference -= np.median(difference[::4, ::4])
        limit = MIN_DIFFERENCE + NOISE_FACTOR * self._noise
        has_changed: npt.NDArray[np.bool_] = np.abs(difference) > limit
        return has_changed.astype(np.uint8)

    def adapt(self, luma: Luma, time_s: float) -> None:
        """Follow the picture by small steps, so that the median is kept, not the mean.

        Cars that cross a pixel for less than half of the time change nothing.
        """
        step = ADAPTED_PER_S * min(time_s - self.time_s, MAX_STEP_S)
        difference = luma - self._level
        self._level += np.clip(difference, -step, step)
        self._noise += np.clip(np.abs(difference) - self._noise, -step, step)
        np.minimum(self._noise, MAX_NOISE, out=self._noise)
        self.time_s = time_s


def region_of_motion(camera: Camera) -> Region:
    """Return where motion counts: not in masks, and in zones only if the camera says so."""
    region = np.ones(LUMA_WH[::-1], np.uint8)
    if camera.only_in_zones and camera.zones:
        region[:] = 0
        _fill(region, camera.zones, 1)
    _fill(region, camera.masks, 0)
    return region.astype(np.bool_)


def _fill(region: npt.NDArray[np.uint8], zones: tuple[Zone, ...], value: int) -> None:
    for zone in zones:
        points = np.array(zone.polygon) * np.array(LUMA_WH) - 0.5
        cv2.fillPoly(region, [np.round(points).astype(np.int32)], (value,))
