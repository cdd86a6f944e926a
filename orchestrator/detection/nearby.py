"""A closer look at detections: their boxes are found again, in pictures of their surroundings.

The detector finds the edges of a plate within some percent of its width, and the edges of a small
plate less exactly. A second box, found at another size and place in the net, has errors of its
own.
"""

from __future__ import annotations

from orchestrator.arrays import Array, empty_like
from orchestrator.detection.boxes import iou
from orchestrator.detection.letterbox import PAD_GREY, Letterbox, resize_into

NEARBY_SIDE_PX = 288
"""Side of the surroundings in the net: a plate in it is 96 px wide."""
TIMES_WIDER = 3
"""The surroundings are a square, and this many times as wide as the box in their middle."""
MAX_NEARBY = 8
"""The most boxes of one picture that are found again."""
MIN_IOU = 0.3
"""Smallest overlap of the two boxes of one plate."""


def surroundings_of(picture: Array, xyxy: tuple[float, float, float, float]) -> Letterbox:
    """Cut the surroundings of a box from a picture, uint8 [H, W, 3]; grey where they leave it.

    Small plates are enlarged, and large ones scaled down. All nets have one shape: networks are
    prepared for each new one, which takes 60 ms and 30 MB on a CPU.
    """
    x0, y0, x1, y1 = xyxy
    side = max(1, round(TIMES_WIDER * (x1 - x0)))
    left, top = round((x0 + x1 - side) / 2), round((y0 + y1 - side) / 2)
    scale = NEARBY_SIDE_PX / side
    columns, rows = (
        slice(max(0, at), min(size, at + side))
        for at, size in zip((left, top), picture.shape[1::-1], strict=True)
    )
    net = empty_like(picture, (1, NEARBY_SIDE_PX, NEARBY_SIDE_PX, 3))
    net[:] = PAD_GREY
    resize_into(
        picture[rows, columns], net[0, _scaled(rows, top, scale), _scaled(columns, left, scale)]
    )
    return Letterbox(net, scale, (-left * scale, -top * scale))


def _scaled(part: slice, start: int, scale: float) -> slice:
    """Return where a part of the picture's rows or columns lies in the net: at least one pixel."""
    begin = min(round((part.start - start) * scale), NEARBY_SIDE_PX - 1)
    return slice(begin, max(begin + 1, round((part.stop - start) * scale)))


def find_same(boxes: Array, xyxy: Array) -> Array | None:
    """Return the box [4] that overlaps a given one [4] the most; None if none is the same plate.

    Args:
        boxes: Boxes [N, 4] in the surroundings of the given box, in pixels of the picture.
        xyxy: The given box.
    """
    if not len(boxes):
        return None
    overlaps = iou(boxes, xyxy[None])[:, 0]
    best = int(overlaps.argmax())
    return boxes[best] if float(overlaps[best]) >= MIN_IOU else None
