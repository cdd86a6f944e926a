"""Tiles: parts of a large picture that the detector sees a second time, at full size."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.detection.boxes import are_parts
from orchestrator.plates import is_near

if TYPE_CHECKING:  # a client alone has no OpenCV, and `serve` reads the sizes before it says so
    from orchestrator.detection.postprocessing import Detections

CLEAR, SMALL_PX = 0.5, 40.0
"""A tile covers each box with a score below the first value, and each box that is narrower in the
letterbox than the second."""
TILE_WH, MAX_TILES = (320, 192), 2
"""Size of the tiles for the second pass, and the most tiles of one picture."""
NEAR_BORDER = (0.15, 0.15)
"""A box that comes this near to the border of a tile may be a part of a plate: shares of the box's
width and height. A plate that was whole costs another look there, but no text."""


def tiles_around(
    detections: Detections, scale: float, size_wh: tuple[int, int]
) -> list[tuple[int, int, int, int]]:
    """Return the tiles of a picture, xyxy, for a second pass: around faint or small detections.

    Args:
        detections: Detections in the whole picture.
        scale: The factor by which the picture was scaled down.
        size_wh: Size of the picture, pixels.
    """
    tiles: list[tuple[int, int, int, int]] = []
    boxes, scores = detections.xyxy.tolist(), detections.scores.tolist()
    for index in np.argsort(-detections.scores, kind="stable"):
        x0, y0, x1, y1 = boxes[index]
        is_clear = scores[index] >= CLEAR and (x1 - x0) * scale >= SMALL_PX
        if is_clear or any(_holds(tile, (x0, y0, x1, y1)) for tile in tiles):
            continue
        tiles.append(_tile_around(((x0 + x1) / 2, (y0 + y1) / 2), size_wh))
        if len(tiles) == MAX_TILES:
            break
    return tiles


def split_cut(
    detections: Detections, tile: tuple[int, int, int, int], size_wh: tuple[int, int]
) -> tuple[Detections, Detections]:
    """Move detections from a tile to its picture, and separate those that may be cut.

    A part of a plate often scores higher than the whole plate, and would replace it.

    Args:
        detections: Detections in the tile, in its pixels.
        tile: The tile, xyxy.
        size_wh: Size of the picture, pixels.

    Returns:
        Whole detections, and those that may be cut.
    """
    in_picture = replace(detections, xyxy=detections.xyxy + np.array(tile[:2] * 2, np.float32))
    sides = zip(tile, (0, 0, *size_wh), (-inf, -inf, inf, inf), strict=True)
    left, top, right, bottom = (away if side == end else side for side, end, away in sides)
    return _divide(in_picture, (left, top, right, bottom))


def keep_whole(detections: Detections, size_wh: tuple[int, int]) -> Detections:
    """Keep the detections that no edge of a picture of the given size may cut."""
    whole, _ = _divide(detections, (0, 0, *size_wh))
    return whole


def _divide(
    detections: Detections, border: tuple[float, float, float, float]
) -> tuple[Detections, Detections]:
    """Divide detections into whole plates and plates that a border, xyxy, may cut."""
    boxes = detections.xyxy.tolist()
    is_cut = np.array([is_near(box, border, NEAR_BORDER) for box in boxes], bool)
    return detections.select(~is_cut), detections.select(is_cut)


def drop_seen(cut: Detections, wholes: Detections) -> Detections:
    """Drop detections cut by a tile that are parts of whole plates."""
    return cut.select(~are_parts(cut.xyxy, wholes.xyxy).any(1))


def _tile_around(
    middle_xy: tuple[float, float], size_wh: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return a tile centred on a point, and moved until it lies inside the picture."""
    (wide, high), (x, y) = TILE_WH, middle_xy
    x0 = max(0, min(round(x - wide / 2), size_wh[0] - wide))
    y0 = max(0, min(round(y - high / 2), size_wh[1] - high))
    return x0, y0, min(x0 + wide, size_wh[0]), min(y0 + high, size_wh[1])


def _holds(tile: tuple[int, int, int, int], xyxy: tuple[float, float, float, float]) -> bool:
    """Tell whether a box, with the margin around a plate, lies in a tile."""
    x0, y0, x1, y1 = xyxy
    room = (x1 - x0) / 2
    return tile[0] <= x0 - room and x1 + room <= tile[2] and tile[1] <= y0 and y1 <= tile[3]
