"""Close-ups: plates that fill most of a picture. The detector finds them in a small letterbox."""

from __future__ import annotations

from orchestrator.arrays import Array
from orchestrator.detection.boxes import are_parts
from orchestrator.detection.postprocessing import Detections

CLOSE_UP_SIDE_PX = 128
"""Longest side of the letterbox for close-ups. A plate that fills it is as wide as the plates that
the detector was trained on."""
SURE = 0.7
"""A picture with a higher score is no close-up. Parts of a close-up had scores up to 0.62."""
MIN_SCORE, MIN_SHARE = 0.5, 0.3
"""Smallest score of a close-up, and its least width as a share of the picture's width. In the small
letterbox, boxes of smaller plates are noise."""


def may_be_close_up(detections: Detections, net: Array) -> bool:
    """Tell whether a picture needs a look at a small size: it has no sure detection.

    Args:
        detections: Detections in the picture.
        net: Its letterbox, uint8 [1, H, W, 3].
    """
    return max(net.shape) > CLOSE_UP_SIDE_PX and not bool((detections.scores > SURE).any())


def keep_close_ups(detections: Detections, width_px: int) -> Detections:
    """Keep the boxes with a high score that are wide in a picture of the given width."""
    widths = detections.xyxy[:, 2] - detections.xyxy[:, 0]
    kept = (detections.scores >= MIN_SCORE) & (widths >= MIN_SHARE * width_px)
    return Detections(detections.xyxy[kept], detections.scores[kept])


def drop_parts(detections: Detections, close_ups: Detections) -> Detections:
    """Drop detections that are parts of a close-up with a higher score, such as its region code."""
    inside = are_parts(detections.xyxy, close_ups.xyxy)
    kept = ~(inside & (close_ups.scores > detections.scores[:, None])).any(1)
    return Detections(detections.xyxy[kept], detections.scores[kept])
