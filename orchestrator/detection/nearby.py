"""A closer look at detections: their boxes are found again, in pictures of their surroundings.

The detector finds a plate's edges within some percent of its width, and those of a small plate less
exactly. A second box, found at another size and place in the net, has errors of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.arrays import Array, empty_like, floats_like
from orchestrator.detection.boxes import iou
from orchestrator.detection.letterbox import PAD_GREY, resize_into
from orchestrator.detection.postprocessing import Detections

NEARBY_SIDE_PX = 288
"""Side of the surroundings in the net: a plate in it is 96 px wide."""
TIMES_WIDER = 3
"""The surroundings are a square, and this many times as wide as the box in their middle."""
MOST_NEARBY = 8
"""The most boxes of one picture that are found again."""
LEAST_IOU = 0.3
"""Least overlap of the two boxes of one plate."""


@dataclass(frozen=True)
class Surroundings:
    """The square around a box, at the size that the net has for all of them.

    Attributes:
        net: uint8 [288, 288, 3]; grey where the square leaves the picture.
        scale: Net pixels per pixel of the picture.
        origin_xy: The place of the net's first pixel in the picture, pixels.
    """

    net: Array
    scale: float
    origin_xy: tuple[int, int]

    def to_picture(self, found: Detections) -> Detections:
        """Map detections from net pixels to pixels of the picture."""
        xyxy = found.xyxy / self.scale + floats_like(found.xyxy, self.origin_xy * 2)
        return replace(found, xyxy=xyxy)


def surroundings_of(picture: Array, xyxy: tuple[float, float, float, float]) -> Surroundings:
    """Cut the surroundings of a box from a picture, uint8 [H, W, 3].

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
    net = empty_like(picture, (NEARBY_SIDE_PX, NEARBY_SIDE_PX, 3))
    net[:] = PAD_GREY
    resize_into(
        picture[rows, columns], net[_scaled(rows, top, scale), _scaled(columns, left, scale)]
    )
    return Surroundings(net, scale, (left, top))


def _scaled(part: slice, start: int, scale: float) -> slice:
    """Return where a part of the picture's rows or columns lies in the net: at least one pixel."""
    begin = min(round((part.start - start) * scale), NEARBY_SIDE_PX - 1)
    return slice(begin, max(begin + 1, round((part.stop - start) * scale)))


def find_same(found: Detections, xyxy: Array) -> Array | None:
    """Return the box [4] that overlaps a given one [4] the most; None if none is the same plate.

    Args:
        found: Detections in the surroundings of the given box, in pixels of the picture.
        xyxy: The given box.
    """
    if not len(found.scores):
        return None
    shared = iou(found.xyxy, xyxy[None])[:, 0]
    best = int(shared.argmax())
    return found.xyxy[best] if float(shared[best]) >= LEAST_IOU else None
