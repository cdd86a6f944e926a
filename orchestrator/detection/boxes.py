"""Boxes: arrays in, new arrays out; xyxy means x0, y0, x1, y1 in pixels."""

from __future__ import annotations

from orchestrator.arrays import Array, floats_like, namespace

INSIDE = 0.7
"""A box with a larger share of its area in another box is a part of it, such as a region code."""


def clip(xyxy: Array, size_wh: tuple[int, int]) -> Array:
    """Clip boxes [N, 4] to a picture of the given width and height."""
    xp, most = namespace(xyxy), floats_like(xyxy, size_wh * 2)
    return xp.minimum(xp.maximum(xyxy, xp.zeros_like(most)), most)


def grow(xyxy: Array, margin_xy: tuple[float, float]) -> Array:
    """Grow boxes [N, 4] at each side by a fraction of their own width and height."""
    margin = (xyxy[:, 2:] - xyxy[:, :2]) * floats_like(xyxy, margin_xy)
    return namespace(xyxy).concatenate((xyxy[:, :2] - margin, xyxy[:, 2:] + margin), 1)


def area(xyxy: Array) -> Array:
    """Return the areas [N] of boxes [N, 4]; 0 for a box turned inside out."""
    width, height = (xyxy[:, 2:] - xyxy[:, :2]).clip(0).T
    return width * height


def intersection(first: Array, second: Array) -> Array:
    """Return the areas [N, M] that boxes [N, 4] share with boxes [M, 4]."""
    xp = namespace(first)
    top_left = xp.maximum(first[:, None, :2], second[None, :, :2])
    bottom_right = xp.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = (bottom_right - top_left).clip(0)
    return shared[..., 0] * shared[..., 1]


def are_parts(xyxy: Array, wholes: Array) -> Array:
    """Tell for boxes [N, 4] and others [M, 4] which is a part of which: bool [N, M].

    A part has more than `INSIDE` of its area in common with the other box.
    """
    return intersection(xyxy, wholes) > INSIDE * area(xyxy)[:, None]


def iou(first: Array, second: Array) -> Array:
    """Return intersection over union [N, M] of boxes [N, 4] and [M, 4]; 0 where both are empty."""
    xp, shared = namespace(first), intersection(first, second)
    union = area(first)[:, None] + area(second)[None] - shared
    return shared / union.clip(xp.finfo(union.dtype).tiny)


def nms(xyxy: Array, scores: Array, iou_threshold: float) -> list[int]:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Args:
        xyxy: float32 [N, 4].
        scores: float32 [N].
        iou_threshold: Boxes that overlap a better one by more are dropped.

    Returns:
        Indices of the M boxes kept, best first.
    """
    order = rank_descending(scores)
    ranked = xyxy[order]
    overlaps = (iou(ranked, ranked) > iou_threshold).tolist()
    kept: list[int] = []
    for rank, row in enumerate(overlaps):
        if not any(row[better] for better in kept):
            kept.append(rank)
    return [order[rank] for rank in kept]


def rank_descending(scores: Array) -> list[int]:
    """Return the indices of scores [N] from the highest to the lowest; equal ones in order."""
    numbers = scores.tolist()
    return sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True)
