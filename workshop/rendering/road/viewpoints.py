"""Cameras above a gate or beside the lane, and their projection of points of the road.

World coordinates are in metres: x to the right, y along the lane away from the camera, z upwards
from the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from workshop.rendering.camera import Light

Points = NDArray[np.float64]
"""(N, 3) metres, or (N, 2) pixels."""

PLATE_M = 0.52
"""Width of a plate of one line, metres."""
PLATE_Z = 0.5
"""Height of a plate above the ground, metres."""
WIDTHS_PX = (25.0, 80.0)
"""Smallest and greatest width in the picture of the plate that the camera is set up for."""
MAX_STEEPNESS = 0.6
"""Greatest height or sideways offset over distance: plates are turned by up to 30 degrees."""
FOCAL = (0.6, 5.0)
"""Smallest and greatest focal length in picture widths: a lens of 80 degrees, and one of 11."""
ASLANT = 0.3
"""Share of the cameras that are rolled by up to 30 degrees; the others are nearly level."""


@dataclass(frozen=True)
class Viewpoint:
    """A camera with its position, direction and lens.

    Attributes:
        place: Position of the lens, x y z in metres.
        turn_deg: Pan to the right, tilt downwards, and roll, which turns the picture clockwise.
        barrel: Barrel distortion: the lens shrinks the corners more than the middle. 0 for none.
    """

    place: tuple[float, float, float]
    turn_deg: tuple[float, float, float]
    focal_px: float
    size_wh: tuple[int, int]
    barrel: float = 0.0

    @cached_property
    def axes(self) -> Points:
        """The camera's right, down and forward directions, (3, 3) unit vectors in rows."""
        pan, tilt, roll = np.deg2rad(self.turn_deg)
        right = np.array([np.cos(pan), -np.sin(pan), 0.0])
        flat = np.array([np.sin(pan), np.cos(pan), 0.0])
        forward = flat * np.cos(tilt) - np.array([0, 0, np.sin(tilt)])
        down = np.cross(forward, right)
        across = right * np.cos(roll) - down * np.sin(roll)
        return np.stack([across, right * np.sin(roll) + down * np.cos(roll), forward])

    @property
    def middle(self) -> Points:
        """Middle of the picture, (2,) pixels."""
        return np.array(self.size_wh) / 2

    def project(self, points: Points) -> Points:
        """Project points in front of a lens without distortion, (N, 2) pixels.

        Args:
            points: (N, 3) metres.
        """
        camera_points = (points - np.array(self.place)) @ self.axes.T
        pixels: Points = camera_points[:, :2] / camera_points[:, 2:] * self.focal_px + self.middle
        return pixels

    def rays(self) -> NDArray[np.float32]:
        """Return each pixel's ray through a lens without distortion, (H, W, 3), of any length."""
        wide, high = self.size_wh
        axes = self.axes.astype(np.float32)
        x = (np.arange(wide, dtype=np.float32) + 0.5 - self.middle[0]) / np.float32(self.focal_px)
        y = (np.arange(high, dtype=np.float32) + 0.5 - self.middle[1]) / np.float32(self.focal_px)
        across, down = x[None, :, None] * axes[0], y[:, None, None] * axes[1]
        rays: NDArray[np.float32] = across + down + axes[2]
        return rays

    def bend(self, points: Points) -> Points:
        """Apply the lens's distortion to points that were projected without it.

        Args:
            points: (..., 2) pixels.
        """
        straight = (points - self.middle) / np.linalg.norm(self.middle)
        straight_radius = np.linalg.norm(straight, axis=-1, keepdims=True)
        radius = straight_radius
        for _ in range(8):  # Newton's steps on radius (1 + k radius^2) = (1 + k) wanted
            miss = radius * (1 + self.barrel * radius**2) - (1 + self.barrel) * straight_radius
            radius = radius - miss / (1 + 3 * self.barrel * radius**2)
        grown = np.divide(
            radius, straight_radius, out=np.ones_like(radius), where=straight_radius > 0
        )
        bent: Points = straight * grown * np.linalg.norm(self.middle) + self.middle
        return bent

    def through_lens(self, light: Light) -> Light:
        """Apply the lens's distortion to a picture drawn without it; the corners do not move."""
        wide, high = self.size_wh
        x = (np.arange(wide, dtype=np.float32) + 0.5 - self.middle[0])[None]
        y = (np.arange(high, dtype=np.float32) + 0.5 - self.middle[1])[:, None]
        square = (x**2 + y**2) / np.float32(np.sum(self.middle**2))
        factor = ((1 + self.barrel * square) / (1 + self.barrel)).astype(np.float32)
        map_x = x * factor + np.float32(self.middle[0] - 0.5)
        map_y = y * factor + np.float32(self.middle[1] - 0.5)
        bent = cv2.remap(light, map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return bent.astype(np.float32)


def random_viewpoint(rng: np.random.Generator, size_wh: tuple[int, int]) -> Viewpoint:
    """Return a random camera above a gate or beside the lane that sees a plate on the lane.

    The plate is at x = y = 0; it is 25 to 80 pixels wide if seen straight on.
    """
    if rng.random() < 0.6:
        height, aside = rng.uniform(2.5, 7), rng.uniform(-2.5, 2.5)
    else:
        height, aside = rng.uniform(0.8, 3), rng.choice([-1, 1]) * rng.uniform(1.5, 6)
    nearest = max(4.0, height / MAX_STEEPNESS, abs(aside) / MAX_STEEPNESS)
    distance = nearest * float(rng.uniform(1, 3))
    away = float(np.hypot(np.hypot(distance, aside), height - PLATE_Z))
    width_px = float(np.exp(rng.uniform(*np.log(WIDTHS_PX))))
    focal = float(np.clip(width_px * away / PLATE_M, *np.multiply(FOCAL, size_wh[0])))
    pan = -np.arctan2(aside, distance) + _off_centre(rng, size_wh[0], focal)
    tilt = np.arctan2(height - PLATE_Z, distance) + _off_centre(rng, size_wh[1], focal)
    roll = rng.uniform(-30, 30) if rng.random() < ASLANT else rng.normal(0, 3)
    return Viewpoint(
        (float(aside), -distance, float(height)),
        (float(np.rad2deg(pan)), float(np.rad2deg(tilt)), float(roll)),
        focal,
        size_wh,
        float(rng.choice([0.0, rng.uniform(0, 0.2)])),
    )


def _off_centre(rng: np.random.Generator, side_px: int, focal_px: float) -> float:
    """Return a random angle between the camera's axis and the plate, radians."""
    return float(np.arctan(rng.uniform(-0.3, 0.3) * side_px / focal_px))
