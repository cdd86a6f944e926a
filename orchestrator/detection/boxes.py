"""Boxes: arrays of NumPy in, new ones out; xyxy means x0, y0, x1, y1 in pixels."""

from __future__ import annotations

import numpy as np

from orchestrator.arrays import Array

INSIDE = 0.7
"""A box with a larger share of its area in another box is a part of it, such as a region code."""
TINY = np.finfo(np.float32).tiny
"""The smallest union of two boxes, so that nothing is divided by 0."""


def clip(xyxy: Array, size_wh: tuple[int, int]) -> Array:
    """Clip boxes [N, 4] to a picture of the given width and height."""
    return xyxy.clip(np.float32(0), np.array(size_wh * 2, np.float32))


def grow(xyxy: Array, margin_xy: tuple[float, float]) -> Array:
    """Grow boxes [N, 4] at each side by a fraction of their own width and height."""
    margin = (xyxy[:, 2:] - xyxy[:, :2]) * np.array(margin_xy, np.float32)
    return np.concatenate((xyxy[:, :2] - margin, xyxy[:, 2:] + margin), 1)


def area(xyxy: Array) -> Array:
    """Return the areas [N] of boxes [N, 4]; 0 for a box turned inside out."""
    return (xyxy[:, 2:] - xyxy[:, :2]).clip(0).prod(1)


def intersection(first: Array, second: Array) -> Array:
    """Return the areas [N, M] that boxes [N, 4] share with boxes [M, 4]."""
    top_left = np.maximum(first[:, None, :2], second[:, :2])
    bottom_right = np.minimum(first[:, None, 2:], second[:, 2:])
    return (bottom_right - top_left).clip(0).prod(2)


def are_parts(xyxy: Array, wholes: Array) -> Array:
    """Tell for boxes [N, 4] and others [M, 4] which is a part of which: bool [N, M].

    A part has more than `INSIDE` of its area in common with the other box.
    """
    return intersection(xyxy, wholes) > INSIDE * area(xyxy)[:, None]


def iou(first: Array, second: Array) -> Array:
    """Return intersection over union [N, M] of boxes [N, 4] and [M, 4]; 0 where both are empty."""
    shared_areas = intersection(first, second)
    union = area(first)[:, None] + area(second) - shared_areas
    return shared_areas / union.clip(TINY)


def nms(xyxy: Array, scores: Array, iou_threshold: float) -> list[int]:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Args:
        xyxy: float32 [N, 4].
        scores: float32 [N].
        iou_threshold: Boxes that overlap a better one by more are dropped.

    Returns:
        Indices of the M boxes kept, best first; of equal scores the first comes first.
    """
    order = np.argsort(-scores, kind="stable")
    ranked_boxes = xyxy[order]
    overlaps = (iou(ranked_boxes, ranked_boxes) > iou_threshold).tolist()
    kept_ranks: list[int] = []
    for rank, overlaps_box in enumerate(overlaps):
        if not any(overlaps_box[better] for better in kept_ranks):
            kept_ranks.append(rank)
    indices: list[int] = order[kept_ranks].tolist()
    return indices
