"""Twelve conditions that nobody tuned for: drawn once, and looked at once.

Pictures are changed at their own size, as by `camera_conditions`. Nothing is random: the same
picture is changed in the same way each time.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.imaging.files import Bgr
from workshop.evaluation.conditions.camera_conditions import (
    Affine,
    Condition,
    View,
    compress,
    resize,
)

Floats = npt.NDArray[np.float32]


def _view(pixels: npt.NDArray[np.floating] | Bgr, affine: Affine | None = None) -> View:
    kept = np.array([[1.0, 0, 0], [0, 1.0, 0]]) if affine is None else affine
    return View(np.clip(np.rint(pixels), 0, 255).astype(np.uint8), kept)


def _noise(shape: tuple[int, ...], deviation: float, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0, deviation, shape).astype(np.float32)


def _disk(radius_px: float) -> Floats:
    reach = int(np.ceil(radius_px))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = np.clip(radius_px + 0.5 - np.hypot(x, y), 0, 1).astype(np.float32)
    return kernel / kernel.sum()


def defocus(bgr: Bgr, radius_px: float) -> View:
    """Spread each pixel over a disk."""
    return _view(cv2.filter2D(bgr, -1, _disk(radius_px)))


def smear_aslant(bgr: Bgr, degrees: float) -> View:
    """Blur a picture by a motion of 11 px in a direction."""
    length = 11
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    turn = cv2.getRotationMatrix2D((length // 2, length // 2), degrees, 1)
    kernel = cv2.warpAffine(kernel, turn, (length, length))
    return _view(cv2.filter2D(bgr, -1, kernel / kernel.sum()))


def interlace(bgr: Bgr, shift_px: float) -> View:
    """Shift every second row, as where a car moves between two fields."""
    combed = bgr.copy()
    combed[1::2] = np.roll(bgr[1::2], int(shift_px), axis=1)
    return _view(combed)


def rain(bgr: Bgr, share: float) -> View:
    """Add streaks of drops, and the haze that they make."""
    drops = (np.random.default_rng(2).random(bgr.shape[:2]) < share).astype(np.float32)
    kernel = np.zeros((19, 19), np.float32)
    cv2.line(kernel, (7, 0), (11, 18), 1.0, 1, cv2.LINE_AA)
    streaks = np.minimum(cv2.filter2D(drops, -1, kernel), 1)[..., None]
    wet = 0.75 * bgr.astype(np.float32) + 0.25 * 150
    return _view(wet * (1 - 0.6 * streaks) + 0.6 * 215 * streaks)


def haze(bgr: Bgr, share: float) -> View:
    """Mix a picture with even grey, and add the noise of a sensor."""
    mixed = (1 - share) * bgr.astype(np.float32) + share * 195
    return _view(mixed + _noise(bgr.shape, 4))


def infrared(bgr: Bgr, gain: float) -> View:
    """Show a picture in grey and dark, with bright things that glare."""
    grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY).astype(np.float32)
    lit = gain * 255 * (grey / 255) ** 1.6
    glare = cv2.GaussianBlur(np.maximum(lit - 200, 0), (0, 0), 6)
    seen = lit + 0.8 * glare + _noise(grey.shape, 7)
    return _view(np.repeat(seen[..., None], 3, axis=2))


def overexpose(bgr: Bgr, gain: float) -> View:
    """Brighten a picture until its light parts are white, and let them bleed."""
    bright = gain * bgr.astype(np.float32)
    return _view(np.minimum(bright, 255) + 0.5 * cv2.GaussianBlur(bright - 255, (0, 0), 3).clip(0))


def cheapen(bgr: Bgr, factor: float) -> View:
    """Show a picture as a cheap camera does: small, sharpened, compressed and enlarged."""
    small = resize(bgr, factor).bgr.astype(np.float32)
    sharp = small + 1.2 * (small - cv2.GaussianBlur(small, (0, 0), 1.2))
    coded = compress(_view(sharp).bgr, 35).bgr
    size_wh = (bgr.shape[1], bgr.shape[0])
    return _view(cv2.resize(coded, size_wh, interpolation=cv2.INTER_LINEAR))


def add_noise(bgr: Bgr, deviation: float) -> View:
    """Add the noise of a sensor in colour."""
    return _view(bgr.astype(np.float32) + _noise(bgr.shape, deviation))


def dusk(bgr: Bgr, gain: float) -> View:
    """Darken a picture, add noise, and compress it."""
    dark = gain * 255 * (bgr.astype(np.float32) / 255) ** 1.3 + _noise(bgr.shape, 6, 3)
    return compress(_view(dark).bgr, 30)


def glare(bgr: Bgr, strength: float) -> View:
    """Add two headlights low in the picture, whose light lies over everything near."""
    height, width = bgr.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    light = np.zeros((height, width), np.float32)
    for at in (0.3, 0.7):
        away = np.hypot(x - at * width, y - 0.6 * height) / width
        light += strength * np.exp(-away / 0.12)
    return _view(0.6 * bgr.astype(np.float32) + 255 * light[..., None])


def blur_far(bgr: Bgr, factor: float) -> View:
    """Show a far car a little out of focus, compressed."""
    small = resize(bgr, factor)
    soft = cv2.GaussianBlur(small.bgr, (0, 0), 0.8)
    return View(compress(_view(soft).bgr, 40).bgr, small.affine)


BLIND = (
    Condition("defocus, 3 px", defocus, 3.0),
    Condition("smeared 11 px at 30 degrees", smear_aslant, 30.0),
    Condition("interlaced, 6 px", interlace, 6.0),
    Condition("rain", rain, 0.004),
    Condition("haze", haze, 0.65),
    Condition("infrared", infrared, 0.6),
    Condition("overexposed", overexpose, 2.0),
    Condition("cheap camera", cheapen, 0.5),
    Condition("noise of 22", add_noise, 22.0),
    Condition("dusk", dusk, 0.4),
    Condition("headlights", glare, 0.6),
    Condition("far and soft", blur_far, 0.45),
)
