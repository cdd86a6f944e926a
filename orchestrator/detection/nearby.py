"""A closer look at one detection: its box is found again, in a picture of its surroundings.

The detector finds a plate's edges within some percent of its width. A second box, found at another
size and place in the net, has errors of its own.
"""

from __future__ import annotations

from orchestrator.arrays import Array, floats_like
from orchestrator.detection.boxes import iou
from orchestrator.detection.postprocessing import Detections

NEARBY_SIDE_PX = 288
"""Longest side of the letterbox of the surroundings: a plate in it is 96 px wide."""
ROOM = 1.0
"""Room at each side of the box, as a share of its width."""
LEAST_IOU = 0.3
"""Least overlap of the two boxes of one plate."""


def surroundings_of(
    xyxy: tuple[float, float, float, float], size_wh: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return the part of a picture round a box, in whole pixels: x0 y0 x1 y1."""
    (x0, y0, x1, y1), (width, height) = xyxy, size_wh
    room = ROOM * (x1 - x0)
    return (
        max(0, int(x0 - room)),
        max(0, int(y0 - room)),
        min(width, int(x1 + room)),
        min(height, int(y1 + room)),
    )


def find_same(found: Detections, xyxy: Array, origin_xy: tuple[int, int]) -> Array | None:
    """Return the box [4] that overlaps a given one [4] the most; None if none is the same plate.

    Args:
        found: Detections in the surroundings of the given box.
        xyxy: The given box, in pixels of the picture.
        origin_xy: The place of the surroundings' first pixel in the picture.
    """
    if not len(found.scores):
        return None
    boxes = found.xyxy + floats_like(found.xyxy, origin_xy * 2)
    shared = iou(boxes, xyxy[None])[:, 0]
    best = int(shared.argmax())
    return boxes[best] if float(shared[best]) >= LEAST_IOU else None
