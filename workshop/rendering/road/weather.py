"""Effects of night, lamps, rain, snow and old sensors on a picture of a road.

Effects take a seeded generator and return a new picture, (H, W, 3) float32 BGR, not clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from workshop.rendering.camera import Light, Quad, cloud
from workshop.rendering.painting import Colour

Lamp = tuple[float, float, float, Colour]
"""x, y and radius in pixels, colour."""


def infrared(rng: np.random.Generator, light: Light, quads: Sequence[Quad]) -> Light:
    """Show a road under an infrared lamp: grey and dark, with plates that reflect the light."""
    grey = light @ np.array([0.2, 0.45, 0.35], np.float32)
    dark = grey * np.float32(rng.uniform(0.1, 0.55)) + np.float32(rng.uniform(0, 25))
    dark_scene = np.repeat(dark[:, :, None], 3, axis=2) * _spotlight(rng, dark.shape[:2])
    bright = np.repeat(grey[:, :, None], 3, axis=2) * np.float32(rng.uniform(0.7, 1.4))
    return _blend(dark_scene, bright, quads)


def night(rng: np.random.Generator, light: Light, quads: Sequence[Quad]) -> Light:
    """Show a road under street lamps: dark and yellowish, with brighter plates."""
    cast = np.sort(rng.uniform([0.5, 0.75, 0.9], 1.0)).astype(np.float32)  # blue least, red most
    dark = 255 * (light / 255).clip(0, 1) ** np.float32(rng.uniform(1.0, 1.7))
    dark = dark * cast * np.float32(rng.uniform(0.2, 0.6)) + np.float32(rng.uniform(0, 15))
    dark_scene = (dark * _spotlight(rng, light.shape[:2])).astype(np.float32)
    return _blend(dark_scene, dark_scene + light * np.float32(rng.uniform(0, 0.6)), quads)


def _spotlight(rng: np.random.Generator, size_hw: tuple[int, ...]) -> Light:
    """Return the uneven light of a lamp as a factor for each pixel, (H, W, 1), 0.5 to 1."""
    field = cloud(rng, (size_hw[0], size_hw[1]), 3)
    return 0.5 + 0.5 * field[:, :, None]


def _blend(dark: Light, bright: Light, quads: Sequence[Quad]) -> Light:
    """Take the plates from the bright picture and everything else from the dark one."""
    mask = np.zeros(dark.shape[:2], np.uint8)
    for quad in quads:
        cv2.fillConvexPoly(mask, np.round((quad - 0.5) * 16).astype("i4"), (255,), cv2.LINE_AA, 4)
    alpha = (mask[:, :, None] / 255).astype(np.float32)
    scene: Light = dark * (1 - alpha) + bright * alpha
    return scene


def shine(rng: np.random.Generator, light: Light, lamps: Sequence[Lamp]) -> Light:
    """Add lit lamps and the bloom round them."""
    glow, core = np.zeros_like(light), np.zeros_like(light)
    strength = rng.uniform(0.3, 1.0)
    for x, y, radius, colour in lamps:
        centre = (round(x * 16), round(y * 16))
        cv2.circle(core, centre, round(16 * radius), colour, -1, cv2.LINE_8, 4)
        cv2.circle(glow, centre, round(40 * radius), [strength * part for part in colour], -1, 8, 4)
    widest = max((radius for _, _, radius, _ in lamps), default=1.0)
    soft = cv2.GaussianBlur(core, (0, 0), max(0.6, 0.4 * widest)).astype(np.float32)
    small = cv2.resize(glow, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), max(0.6, widest * rng.uniform(0.4, 1.2)))
    bloom = cv2.resize(small, (light.shape[1], light.shape[0]), interpolation=cv2.INTER_LINEAR)
    return light + soft + bloom.astype(np.float32)


def rain(rng: np.random.Generator, light: Light) -> Light:
    """Add streaks of falling drops, and the haze that they make."""
    drops = _specks(rng, light.shape, per_pixel=rng.uniform(0.0005, 0.003), biggest_px=0.8)
    length = max(5, round(light.shape[1] * rng.uniform(0.01, 0.03)))
    streaks = cv2.filter2D(drops, -1, slanted_line(length, 90 + rng.normal(0, 8)) * length / 4)
    veil = np.float32(rng.uniform(0, 0.25))
    bright = np.float32(rng.uniform(25, 80))
    wet: Light = light * (1 - veil) + veil * light.mean() + streaks[:, :, None] * bright
    return wet


def snow(rng: np.random.Generator, light: Light) -> Light:
    """Add falling flakes, some of them near and out of focus."""
    biggest = max(0.5, light.shape[1] / 1280 * rng.uniform(1.0, 3.5))
    flakes = _specks(rng, light.shape, per_pixel=rng.uniform(0.0002, 0.002), biggest_px=biggest)
    length = max(2, round(light.shape[1] * rng.uniform(0.001, 0.006)))
    falling = cv2.filter2D(flakes, -1, slanted_line(length, 90 + rng.normal(0, 25)))
    alpha = (falling * np.float32(rng.uniform(0.5, 1.0))).clip(0, 1)[:, :, None]
    white = np.float32(max(150.0, min(250.0, float(light.mean()) + 110)))
    snowy: Light = light * (1 - alpha) + white * alpha
    return snowy


def fog(rng: np.random.Generator, light: Light) -> Light:
    """Add fog: lower the contrast and brighten the picture."""
    amount = np.float32(rng.uniform(0.2, 0.6))
    veiled: Light = light * (1 - amount) + amount * (light.mean() + np.float32(rng.uniform(5, 60)))
    return veiled


def _specks(
    rng: np.random.Generator, shape: tuple[int, ...], *, per_pixel: float, biggest_px: float
) -> NDArray[np.float32]:
    """Draw soft dots in random places, (H, W) float32 from 0 to 1."""
    field = np.zeros(shape[:2], np.uint8)
    count = round(per_pixel * shape[0] * shape[1])
    places = np.round(rng.random((count, 2)) * shape[1::-1] * 16).astype(int).tolist()
    radii = np.round(rng.uniform(0.4, biggest_px, count) * 16).astype(int).tolist()
    shades = rng.integers(90, 256, count).tolist()
    for place, radius, shade in zip(places, radii, shades, strict=True):
        cv2.circle(field, place, radius, (shade,), -1, cv2.LINE_AA, 4)
    return cv2.GaussianBlur(field.astype(np.float32) / 255, (0, 0), 0.7).astype(np.float32)


def slanted_line(length: int, angle_deg: float) -> NDArray[np.float32]:
    """Return the motion blur kernel of `length` pixels; its sides are odd, its sum is 1.

    0 degrees point to the right, 90 degrees downwards.
    """
    reach = np.deg2rad(angle_deg)
    half = length / 2 * np.array([np.cos(reach), np.sin(reach)])
    side = 2 * int(np.ceil(length / 2)) + 1
    middle = np.array([side // 2, side // 2])
    ends = [np.round((middle + sign * half) * 16).astype(int).tolist() for sign in (-1, 1)]
    fine = np.zeros((side, side), np.uint8)
    cv2.line(fine, ends[0], ends[1], (255,), 1, cv2.LINE_AA, 4)
    kernel: NDArray[np.float32] = (fine / fine.sum()).astype(np.float32)
    return kernel


def rolling(rng: np.random.Generator, light: Light) -> Light:
    """Add the bands and uneven rows of a rolling shutter under flickering lamps."""
    rows = np.arange(light.shape[0], dtype=np.float32)
    waves = np.sin(rows * rng.uniform(1, 12) * 2 * np.pi / len(rows) + rng.uniform(0, 6))
    lines = waves * rng.uniform(0, 0.07) + rng.normal(0, rng.uniform(0, 0.03), len(rows))
    banded: Light = light * (1 + lines[:, None, None]).astype(np.float32)
    return banded


def grain(rng: np.random.Generator, light: Light, sigma: float) -> Light:
    """Add a sensor's noise, mostly in brightness."""
    grey = rng.standard_normal((*light.shape[:2], 1), dtype=np.float32) * np.float32(sigma)
    tint = rng.standard_normal((light.shape[0] // 2 + 1, light.shape[1] // 2 + 1, 3), np.float32)
    colour = cv2.resize(tint, (light.shape[1], light.shape[0])) * np.float32(0.4 * sigma)
    noisy: Light = light + grey + colour
    return noisy


FALLING: tuple[Callable[[np.random.Generator, Light], Light], ...] = (rain, snow, fog)
