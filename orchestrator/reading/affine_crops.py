"""Frames: the positions of crops in a picture, and cuts along them at any angle.

A frame is an affine map, float32 [2, 3], from a crop's coordinates to pixels of the picture. The
crop's coordinates run from -1 to 1 from edge to edge, x first. The map's columns are half its upper
edge, half its left edge, and its middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from orchestrator.arrays import Array, namespace
from orchestrator.reading.crops import READER_SIZE_WH, normalize_crops, resize_crop, unfold
from orchestrator.reading.sampling import sample

MAX_SAMPLES_PER_PX = 4
"""Largest number of samples of a cut per pixel of the reader's crop, in each direction."""
SECOND_PASS_MARGINS_XY = {1: ((0.03, 0.12), (0.09, 0.28)), 2: ((0.03, 0.04), (0.06, 0.08))}
"""Margins around a plate, by its number of lines; each gives one cut along the frame. Several are
used because the frame from STN may be inexact."""
SQUARE = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], np.float32)
"""The corners of a crop, clockwise from top-left, for the product with a frame."""


def frames_of(boxes: Array | Sequence[tuple[float, float, float, float]]) -> Array:
    """Return the frames [N, 2, 3] of upright boxes xyxy [N, 4]."""
    x0, y0, x1, y1 = np.asarray(boxes, np.float32).reshape(-1, 4).T
    frames = np.zeros((len(x0), 2, 3), np.float32)
    frames[:, 0, 0], frames[:, 0, 2] = x1 - x0, x0 + x1
    frames[:, 1, 1], frames[:, 1, 2] = y1 - y0, y0 + y1
    return frames / 2


def frames_around(corners: Array) -> Array:
    """Return the frames [N, 2, 3] that best fit corners [N, 4, 2], clockwise from top-left."""
    first, second, third, fourth = (corners[:, corner] for corner in range(4))
    across = (second - first + third - fourth) / 4
    along = (fourth - first + third - second) / 4
    return np.stack((across, along, corners.mean(1)), 2)


def compose(frames: Array, theta: Array) -> Array:
    """Return the frames [N, 2, 3] of the parts that STN cuts out of crops.

    Args:
        frames: Frames of the crops, float32 [N, 2, 3].
        theta: float32 [N, 2, 3], from STN's output to its input, both in [-1, 1].
    """
    inner = np.zeros((len(theta), 3, 3), np.float32)
    inner[:, :2], inner[:, 2, 2] = theta, 1
    return np.einsum("nij,njk->nik", frames, inner)


def grow_frames(frames: Array, margin_xy: tuple[float, float]) -> Array:
    """Grow frames [N, 2, 3] at each side by a fraction of their own width and height."""
    x, y = (1 + 2 * margin for margin in margin_xy)
    return frames * np.array([x, y, 1.0], frames.dtype)


def corners_of(frames: Array) -> Array:
    """Return the corners [N, 4, 2] of frames, pixels, clockwise from top-left."""
    return SQUARE @ frames.swapaxes(1, 2)


def sizes_of(frames: Array) -> Array:
    """Return widths and heights [N, 2] of frames: the lengths of their edges, pixels."""
    edges = frames[:, :, :2]
    return 2 * np.sqrt((edges * edges).sum(1))


def tilts_of(frames: Array) -> Array:
    """Return the tilt of frames in degrees, [N]: the larger of the tilts of their edges."""
    (right, down), (across, along) = frames[:, :, 0].T, frames[:, :, 1].T
    rows, columns = np.arctan2(abs(down), right), np.arctan2(abs(across), along)
    return np.rad2deg(np.maximum(rows, columns))


def cut_frame(picture: Array, frame: Array, lines: int = 1) -> Array:
    """Cut a tilted plate out of the full-size picture for STN and LPRNet.

    Outside the picture, its outermost pixels are repeated.

    Args:
        picture: uint8 [H, W, 3] BGR.
        frame: float32 [2, 3].
        lines: Lines of the plate; a plate of 2 lines is unfolded to one row of characters.

    Returns:
        float32 [1, 3, 24, 94] RGB, (x - 127.5) / 128, on the picture's device.
    """
    wide, high = READER_SIZE_WH[0] // lines, READER_SIZE_WH[1] * lines
    width, height = sizes_of(frame[None])[0].tolist()
    if width <= wide and height <= high:
        # To sample a small plate at its own size, and then to enlarge it, would blur it.
        upright = sample(*map_region(picture, frame, room_px=2), (high, wide), "bicubic")
    else:
        upright = cut_upright(picture, frame)
    return to_input(upright if lines == 1 else unfold(upright))


def to_input(upright: Array) -> Array:
    """Turn an upright plate, uint8 [h, w, 3] BGR, into the input of STN and LPRNet."""
    return normalize_crops(resize_crop(upright))


def unfold_at(upright: Array, share: float) -> Array:
    """Put a plate's upper line left of its lower one, as the input of STN and LPRNet.

    Args:
        upright: uint8 [h, w, 3] BGR, an upright plate of two lines.
        share: Share of the height that the upper line has.

    Returns:
        float32 [1, 3, 24, 94]; both lines are as wide and as high.
    """
    row, last = round(share * len(upright)), len(upright) - 1
    width, height = READER_SIZE_WH
    lines = upright[: max(row, 1)], upright[min(row, last) :]
    resized_lines = [resize_crop(line, (width // 2, height)) for line in lines]
    return normalize_crops(namespace(upright).concatenate(resized_lines, 3))


def cut_upright(picture: Array, frame: Array) -> Array:
    """Sample the pixels in a frame [2, 3] at about their own resolution: uint8 [h, w, 3]."""
    wide, high = (
        min(max(math.ceil(side), 1), MAX_SAMPLES_PER_PX * max_side)
        for side, max_side in zip(sizes_of(frame[None])[0].tolist(), READER_SIZE_WH, strict=True)
    )
    return sample_frame(picture, frame, (high, wide))


def sample_frame(picture: Array, frame: Array, size_hw: tuple[int, int]) -> Array:
    """Sample the pixels in a frame [2, 3] at any resolution: uint8 [h, w, 3]."""
    return sample(*map_region(picture, frame), size_hw)


def map_region(picture: Array, frame: Array, room_px: int = 1) -> tuple[Array, Array]:
    """Return the part of a picture around a frame [2, 3], and the map to it from the crop.

    Args:
        picture: uint8 [H, W, 3].
        frame: float32 [2, 3].
        room_px: Pixels around the frame's bounds; the part has at least one pixel.
    """
    bounds, theta = [], []
    for (x, y, middle), side in zip(frame.tolist(), picture.shape[1::-1], strict=True):
        reach = abs(x) + abs(y)
        low = min(max(math.floor(middle - reach) - room_px, 0), side - 1)
        high = max(min(math.ceil(middle + reach) + room_px, side), low + 1)
        scale = 2 / (high - low)
        bounds.append(slice(low, high))
        theta.append((x * scale, y * scale, (middle - low) * scale - 1))
    columns, rows = bounds
    return picture[rows, columns], np.array(theta, np.float32)
