"""Decides what is kept of the frame of a pass, before anything is written."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import cv2
import numpy as np

from plate_cameras.blurring import blur_frame
from plate_cameras.configuration import NONE, SURROUNDINGS
from plate_cameras.passes import BestFrame, PassEvent

LOG = logging.getLogger(__name__)
QUALITY = 92
"""JPEG quality of blurred frames, that of the camera's own."""


@dataclass(frozen=True)
class KeptFrames:
    """The choice of what is kept of frames.

    Attributes:
        is_kept: True if frames are kept at all.
        blur: The choice of what is made unrecognisable in them, see `blur_frame`.
    """

    is_kept: bool = False
    blur: str = SURROUNDINGS

    def prepare(self, event: PassEvent) -> PassEvent:
        """Return an event whose frame may be written to pictures and spool."""
        best = event.passed.best
        frame = self._blurred(event.passed.id, best) if self.is_kept else b""
        if frame == best.frame_jpeg:
            return event
        passed = replace(event.passed, best=replace(best, frame_jpeg=frame))
        return replace(event, passed=passed)

    def _blurred(self, pass_id: str, best: BestFrame) -> bytes:
        if self.blur == NONE or not best.frame_jpeg:
            return best.frame_jpeg
        bgr = cv2.imdecode(np.frombuffer(best.frame_jpeg, np.uint8), cv2.IMREAD_COLOR)
        if bgr is None:
            LOG.error("%s: the frame is left out: it cannot be decoded to be blurred", pass_id)
            return b""
        plate = best.observation.plate.xyxy
        blurred = blur_frame(bgr.astype(np.uint8, copy=False), plate, best.others, self.blur)
        return cv2.imencode(".jpg", blurred, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
