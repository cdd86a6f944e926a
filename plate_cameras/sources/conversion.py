"""Conversion of decoded frames: to JPEG files, and to the small grey pictures of motion."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from plate_cameras.sources.motion import LUMA_WH, Luma

JPEG_QUALITY = 92
"""48 dB against the decoded frame of a 1080p street, 0.27 MB; 95 needs a third more bytes."""
TURNS = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, -90: cv2.ROTATE_90_CLOCKWISE,
         180: cv2.ROTATE_180, -180: cv2.ROTATE_180}  # fmt: skip
"""FFmpeg gives the degrees counterclockwise."""
Bgr: TypeAlias = "npt.NDArray[np.uint8]"


class LumaConverter:
    """Makes grey pictures of 240x135 pixels. One serves the frames of one thread."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()

    def convert(self, frame: VideoFrame) -> Luma:
        """Return the grey levels of a frame, averaged over areas."""
        width, height = LUMA_WH
        small = self._reformatter.reformat(
            frame, width, height, "gray", interpolation="AREA", threads=1
        )
        return small.to_ndarray().astype(np.uint8, copy=False)


def encode_jpeg(frame: VideoFrame) -> tuple[bytes, tuple[int, int]]:
    """Return a frame as a JPEG file, upright, and its size."""
    bgr: Bgr = frame.reformat(format="bgr24", threads=1).to_ndarray().astype(np.uint8, copy=False)
    turn = TURNS.get(frame.rotation)
    upright = bgr if turn is None else cv2.rotate(bgr, turn)
    _, encoded = cv2.imencode(".jpg", upright, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return encoded.tobytes(), (upright.shape[1], upright.shape[0])
