"""Rendered plates, sharp, and blurred as by a bad camera."""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Quad, View, cloud, compress, random_colour, warp
from workshop.rendering.country import russia

SIZE_WH = (192, 64)


class Pair(NamedTuple):
    """A plate, sharp and blurred, uint8 [64, 192, 3] BGR; its corners [4, 2], pixels; its text."""

    sharp: Bgr
    blurred: Bgr
    quad: Quad
    text: str

    @property
    def xyxy(self) -> NDArray[np.float32]:
        """The box around the plate, pixels, [4]."""
        corners = [self.quad.min(axis=0), self.quad.max(axis=0)]
        return np.array(corners, np.float32).reshape(4)


def render_pair(rng: np.random.Generator) -> Pair:
    """Render an ordinary plate on a car's paint, 100 to 170 pixels wide, and blur it."""
    plate = russia().random_plate(rng, "ru_car")
    yaw, pitch, roll = rng.normal(0, (12, 8, 3)).tolist()
    quad = View(yaw, pitch, roll, rng.uniform(100, 170)).quad() + np.array(SIZE_WH) / 2
    paint = np.full((*SIZE_WH[::-1], 3), random_colour(rng), np.float32)
    paint += (cloud(rng, SIZE_WH[::-1], 4)[:, :, None] - 0.5) * 60
    picture = warp(plate.picture, paint.clip(0, 255).astype(np.uint8), quad)
    light, black = rng.uniform(0.5, 1), rng.uniform(0, 30)
    sharp = (picture * light + black).clip(0, 255).astype(np.uint8)
    return Pair(sharp, blur(rng, sharp), quad, plate.text)


def blur(rng: np.random.Generator, sharp: Bgr) -> Bgr:
    """Add defocus, motion, noise and JPEG loss, from very little to more than a reader can bear."""
    soft = cv2.GaussianBlur(sharp.astype(np.float32), (0, 0), rng.uniform(0.5, 3.2))
    half, angle = rng.uniform(0, 5), rng.uniform(0, np.pi)
    streak = np.zeros((13, 13), np.float32)
    end = np.array([np.cos(angle), np.sin(angle)]) * half * 16
    ends = [np.round(6 * 16 + sign * end).astype(int).tolist() for sign in (-1, 1)]
    cv2.line(streak, ends[0], ends[1], (1.0,), 1, cv2.LINE_8, 4)
    moved = cv2.filter2D(soft, -1, streak / streak.sum())
    noisy = moved + rng.normal(0, rng.uniform(0.5, 5), moved.shape)
    return compress(noisy.clip(0, 255).astype(np.uint8), int(rng.integers(40, 96)))
