"""Regions of interest: the part of a picture that is searched, and the plates that count in it."""

from __future__ import annotations

from orchestrator.detection.postprocessing import Detections
from orchestrator.errors import ParameterError
from orchestrator.settings import Roi

SURROUNDINGS, MIN_SURROUNDINGS_PX = 1 / 16, 48
"""Width of the surroundings that are searched, as a share of the region's longer side, and the
least. Plates up to twice as wide whose middle lies in the region are whole there; of wider ones,
more than half is."""
FLATNESS = 0.5
"""Height of the surroundings over their width: plates are wider than high."""


def view_of(roi: Roi, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the part of a picture to search for a region, xyxy: the region and its surroundings.

    Args:
        roi: The region of interest.
        size_wh: Size of the picture, pixels.

    Raises:
        ParameterError: The region contains no whole pixel of the picture.
    """
    width, height = size_wh
    x0, y0, x1, y1 = _clip(roi, size_wh)
    if x0 >= x1 or y0 >= y1:
        raise ParameterError(f"roi: wanted a part of the {width}x{height} picture, got {roi}")
    around = max(MIN_SURROUNDINGS_PX, SURROUNDINGS * max(x1 - x0, y1 - y0))
    above = FLATNESS * around
    return _clip((x0 - around, y0 - above, x1 + around, y1 + above), size_wh)


def keep_inside(detections: Detections, roi: Roi) -> Detections:
    """Keep the detections whose middle lies in a region of interest."""
    x0, y0, x1, y1 = roi
    middles = (detections.xyxy[:, :2] + detections.xyxy[:, 2:]) / 2
    x, y = middles[:, 0], middles[:, 1]
    kept = (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
    return Detections(detections.xyxy[kept], detections.scores[kept])


def _clip(xyxy: Roi, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Round a box to whole pixels and clip it to a picture."""
    x0, y0, x1, y1 = (
        round(min(max(at, 0.0), side)) for at, side in zip(xyxy, size_wh * 2, strict=True)
    )
    return x0, y0, x1, y1
