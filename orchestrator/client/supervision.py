"""Conversion of plates to detections of the package supervision, for its trackers and zones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.errors import ExtraError
from orchestrator.plates import Plate, Plates

if TYPE_CHECKING:
    from supervision import Detections  # type: ignore[import-not-found]

CLASS_NAME = "plate"
TEXTS = ("text", "raw_text", "format")
"""Attributes of a `Plate` that are copied unchanged."""


def to_supervision(plates: Plates) -> Detections:
    """Return plates as `supervision.Detections`.

    Args:
        plates: Plates of one picture.

    Returns:
        Detections with `xyxy` [N, 4] in picture pixels, and the detection scores as `confidence`
        [N]. All have `class_id` 0. Their `data` holds for each plate `class_name`, `text`,
        `text_score`, `raw_text`, `format` and `region_code`. It also holds the corners as
        `xyxyxyxy` [N, 4, 2], clockwise from top-left. If the request did not ask for corners, the
        corners of the box are used.

    Raises:
        ExtraError: supervision is not installed.
    """
    try:
        from supervision import Detections
    except ModuleNotFoundError as error:
        if error.name != "supervision":
            raise
        raise ExtraError(
            "the package supervision is not installed: pip install supervision"
        ) from error
    count = len(plates)
    return Detections(
        xyxy=np.array([plate.xyxy for plate in plates], np.float32).reshape(count, 4),
        confidence=np.array([plate.detection_score for plate in plates], np.float32),
        class_id=np.zeros(count, int),
        data=_columns(plates),
    )


def _columns(plates: Plates) -> dict[str, Any]:
    regions = [plate.region.code if plate.region else "" for plate in plates]
    corners = np.array([corners_of(plate) for plate in plates], np.float32)
    return {
        **{name: np.array([getattr(plate, name) for plate in plates], str) for name in TEXTS},
        "class_name": np.full(len(plates), CLASS_NAME),
        "text_score": np.array([plate.text_score for plate in plates], np.float32),
        "region_code": np.array(regions, str),
        "xyxyxyxy": corners.reshape(len(plates), 4, 2),
    }


def corners_of(plate: Plate) -> tuple[tuple[float, float], ...]:
    """Return the corners of a plate. A plate without corners gets the corners of its box."""
    x0, y0, x1, y1 = plate.xyxy
    return plate.corners or ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
