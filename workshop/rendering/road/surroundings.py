"""Surroundings of the cars on a road: the ground with its lanes, houses, trees and the sky."""

from __future__ import annotations

import cv2
import numpy as np

from workshop.rendering.camera import Light, cloud
from workshop.rendering.road.viewpoints import Viewpoint
from workshop.rendering.scenery import draw_backdrop

LANE_M = 3.3
GROUND_M, PX_PER_M = (48, 160), 10
"""Size of the ground's texture across and along the road, and its scale.

A quarter of the length lies before the first car. Beyond its edges the texture is mirrored.
"""
LINE_PX = 2
"""Width of the paint between lanes."""
BACKDROP_M = (50, 110)
"""Smallest and greatest distance of the houses behind the first car."""
HOUSES_WH, SKYLINE, HOUSE_PX_PER_M = (1200, 500), 400, 8
"""Size of the houses' picture and row of its skyline, pixels, and its scale."""


def draw_surroundings(rng: np.random.Generator, view: Viewpoint) -> Light:
    """Draw the road, houses and sky as a lens without distortion sees them."""
    rays = view.rays()
    x, y, z = (np.float32(side) for side in view.place)
    behind = np.float32(rng.uniform(*BACKDROP_M))
    towards, down = np.maximum(rays[:, :, 1], 1e-3), np.maximum(-rays[:, :, 2], 1e-4)
    reach = np.minimum(z / down, (behind - y) / towards)
    x, y, z = (side + reach * rays[:, :, axis] for axis, side in enumerate((x, y, z)))
    columns = (x + GROUND_M[0] / 2) * PX_PER_M
    ground = _look_up(_draw_ground(rng), columns, (y + GROUND_M[1] / 4) * PX_PER_M)
    houses = draw_backdrop(rng, HOUSES_WH, float(SKYLINE))
    far = _look_up(houses, x * HOUSE_PX_PER_M + HOUSES_WH[0] / 2, SKYLINE - z * HOUSE_PX_PER_M)
    light: Light = np.where((z > 0.02)[:, :, None], far, ground)
    size_hw = (view.size_wh[1], view.size_wh[0])
    return light + (cloud(rng, size_hw, 90)[:, :, None] - 0.5) * np.float32(10)


def _look_up(texture: Light, columns: Light, rows: Light) -> Light:
    """Sample a texture at given pixels; it is mirrored at its edges."""
    columns, rows = np.clip(columns, -9000, 9000), np.clip(rows, -9000, 9000)
    samples = cv2.remap(texture, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return samples.astype(np.float32)


def _draw_ground(rng: np.random.Generator) -> Light:
    """Draw the road and its verges from above, (H, W, 3) float32."""
    wide, size_hw = GROUND_M[0] * PX_PER_M, (GROUND_M[1] * PX_PER_M, GROUND_M[0] * PX_PER_M)
    ground = np.full((*size_hw, 3), rng.uniform(75, 130), np.float32)
    verge = np.array([60, 95, 80]) * rng.uniform(0.6, 1.2)
    ground[:, : rng.integers(40, 130)] = ground[:, wide - rng.integers(40, 130) :] = verge
    paint = float(rng.uniform(150, 235))
    for lane in range(-2, 4):
        column = round(wide / 2 + (lane - 0.5) * LANE_M * PX_PER_M)
        if rng.random() < 0.25:
            ground[:, column : column + LINE_PX] = paint
        for row in range(int(rng.integers(0, 120)), size_hw[0], 120):
            ground[row : row + 40, column : column + LINE_PX] = paint
    ground *= 0.75 + 0.5 * cloud(rng, size_hw, 12)[:, :, None]
    ground += rng.normal(0, 7, (*size_hw, 1)).astype(np.float32)
    if rng.random() < 0.25:  # snow lies
        white = (cloud(rng, size_hw, 7)[:, :, None] * rng.uniform(1.0, 2.0)).clip(0, 0.9)
        ground = ground * (1 - white) + 225 * white
    return cv2.GaussianBlur(ground, (0, 0), 0.8).astype(np.float32)
