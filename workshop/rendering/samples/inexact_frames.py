"""Boxes and frames round a plate, with the usual errors of the detector and of each pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator.reading.affine_crops import (
    SECOND_PASS_MARGINS_XY,
    frames_around,
    frames_of,
    grow_frames,
    sizes_of,
)
from orchestrator.reading.skew import frames_inside
from workshop.rendering.camera import Quad

Frame = NDArray[np.float32]
"""float32 [2, 3], see `orchestrator.reading.affine_crops`."""
BOX_ERRORS = {1: ((0.02, 0.06), (0.12, 0.35)), 2: ((0.025, 0.035), (0.1, 0.12))}
"""Errors of a detector's box by the number of lines, as shares of the plate's width and height: the
standard deviation of each side, and the most room for the plate's holder at a side."""
FRAME_ERRORS = {
    1: ((2.5, 3.0), (0.03, 0.06), (0.02, 0.04)),
    2: ((3.0, 3.5), (0.05, 0.07), (0.03, 0.05)),
}
"""Standard deviations of STN's frame by the number of lines: the angles of its edges in degrees,
and its size and place as shares of the plate's width and height."""
SKEW_ERROR_DEG = 1.5
"""Standard deviation of the error in the angle of a plate of two lines."""


def jitter_box(rng: np.random.Generator, quad: Quad, lines: int = 1) -> NDArray[np.float64]:
    """Return a box round the corners with a detector's usual error: (4,) x0 y0 x1 y1.

    Most boxes include the plate's holder, or more. In a real detector's crops with margins, a plate
    of one line often fills at most three quarters of the width and half of the height.

    Args:
        rng: Source of all randomness.
        quad: Corners, clockwise from top-left, pixels.
        lines: Number of lines of the plate.
    """
    low, high = quad.min(axis=0), quad.max(axis=0)
    size = high - low
    spread, room = BOX_ERRORS[lines]
    noise = rng.normal(0, spread, (2, 2))
    if rng.random() < 0.65:
        noise += np.array([[-1], [1]]) * rng.uniform(0, room, (2, 2)) * rng.random()
    box: NDArray[np.float64] = np.stack([low, high]) + noise * size
    return box.reshape(4)


def jitter_frame(rng: np.random.Generator, quad: Quad, lines: int = 1) -> Frame:
    """Return a frame round the corners with STN's usual error and a second pass's margins.

    Args:
        rng: Source of all randomness.
        quad: Corners, clockwise from top-left, pixels.
        lines: Number of lines of the plate.
    """
    frame = frames_around(quad[None])
    width, height = sizes_of(frame)[0].tolist()
    angles, sizes, places = FRAME_ERRORS[lines]
    angle, sheared = np.deg2rad(rng.normal(0, angles))
    across, along = 1 + rng.normal(0, sizes)
    right, down = rng.normal(0, places)
    off = np.array([
        [across * np.cos(angle), np.sin(sheared - angle) * height / width, right],
        [np.sin(angle) * width / height, along * np.cos(angle), down],
        [0, 0, 1],
    ])  # fmt: skip
    room_x, room_y = np.mean(SECOND_PASS_MARGINS_XY[lines], axis=0).tolist()
    grown: Frame = grow_frames(frame @ off, (room_x, room_y))[0].astype(np.float32)
    return grown


def frame_inside_box(rng: np.random.Generator, quad: Quad) -> Frame:
    """Return a frame of a plate of two lines, as its angle in the detector's box gives it.

    The angle and the box have their usual errors.

    Args:
        rng: Source of all randomness.
        quad: Corners, clockwise from top-left, pixels.
    """
    x, y = (quad[1] - quad[0] + quad[2] - quad[3]).tolist()
    degrees = float(np.rad2deg(np.arctan2(y, x)) + rng.normal(0, SKEW_ERROR_DEG))
    (upright,) = frames_of(jitter_box(rng, quad, lines=2))
    frames = frames_inside(upright, degrees)
    frame = frames[int(rng.integers(len(frames)))]
    room_x, room_y = rng.uniform(*np.transpose(SECOND_PASS_MARGINS_XY[2])).tolist()
    grown: Frame = grow_frames(frame[None], (room_x, room_y))[0]
    return grown
