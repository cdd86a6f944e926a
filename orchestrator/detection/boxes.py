"""Boxes: tensors in, new tensors out; xyxy means x0, y0, x1, y1 in pixels."""

from __future__ import annotations

import torch
from torch import Tensor


def clip(xyxy: Tensor, size_wh: tuple[int, int]) -> Tensor:
    """Clip boxes [N, 4] to a picture of the given width and height."""
    width, height = size_wh
    return torch.stack(
        (
            xyxy[:, 0].clamp(0, width),
            xyxy[:, 1].clamp(0, height),
            xyxy[:, 2].clamp(0, width),
            xyxy[:, 3].clamp(0, height),
        ),
        dim=1,
    )


def grow(xyxy: Tensor, margin_xy: tuple[float, float]) -> Tensor:
    """Grow boxes [N, 4] at each side by a fraction of their own width and height."""
    margin = (xyxy[:, 2:] - xyxy[:, :2]) * xyxy.new_tensor(margin_xy)
    return torch.cat((xyxy[:, :2] - margin, xyxy[:, 2:] + margin), dim=1)


def area(xyxy: Tensor) -> Tensor:
    """Return the areas [N] of boxes [N, 4]; 0 for a box turned inside out."""
    return (xyxy[:, 2:] - xyxy[:, :2]).clamp(min=0).prod(dim=1)


def intersection(first: Tensor, second: Tensor) -> Tensor:
    """Return the areas [N, M] that boxes [N, 4] share with boxes [M, 4]."""
    top_left = torch.maximum(first[:, None, :2], second[None, :, :2])
    bottom_right = torch.minimum(first[:, None, 2:], second[None, :, 2:])
    return (bottom_right - top_left).clamp(min=0).prod(dim=2)


def iou(first: Tensor, second: Tensor) -> Tensor:
    """Return intersection over union [N, M] of boxes [N, 4] and [M, 4]; 0 where both are empty."""
    shared = intersection(first, second)
    union = area(first)[:, None] + area(second)[None] - shared
    return shared / union.clamp(min=torch.finfo(union.dtype).tiny)


def nms(xyxy: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Args:
        xyxy: float32 [N, 4].
        scores: float32 [N].
        iou_threshold: Boxes that overlap a better one by more are dropped.

    Returns:
        int64 [M], indices of the boxes kept, best first.
    """
    order = scores.argsort(descending=True, stable=True)
    overlaps = (iou(xyxy[order], xyxy[order]) > iou_threshold).tolist()
    kept: list[int] = []
    for rank, row in enumerate(overlaps):
        if not any(row[better] for better in kept):
            kept.append(rank)
    return order[kept]
