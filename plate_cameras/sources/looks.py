"""Looks: the frames of a camera that wait to be taken, at most one, and their conversion."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from plate_cameras.frames import Clock
from plate_cameras.sources.motion import LUMA_WH, Luma

WAIT_STEP_S = 0.5


@dataclass(frozen=True)
class Look:
    """A decoded frame that may be handed on.

    Attributes:
        number: Its number since the source was opened.
        time_s: Its time, by `clock`.
        clock: The clock of `time_s`.
        steady_s: Its steady moment, see `Frame`; None for a file.
    """

    frame: VideoFrame
    number: int
    time_s: float
    clock: Clock
    steady_s: float | None = None


class LookSlot:
    """Holds the newest look until it is taken. It is shared by threads.

    Args:
        announce: Is called when a look is there and none was before.
    """

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._condition = threading.Condition()
        self._look: Look | None = None
        self._deliveries = 0  # looks: the next one is taken while another thread sends the last
        self._is_closed = False
        self.dropped = 0

    def offer(self, look: Look, *, is_due: bool) -> None:
        """Put a look.

        Args:
            look: The look. It replaces one that waits.
            is_due: True if it begins a new interval. One that waits then counts as dropped. A look
                that is not due only replaces another.
        """
        with self._condition:
            waits = self._look is not None
            if not waits and not is_due:
                return
            self.dropped += waits and is_due
            self._look = look
        if not waits:
            self._announce()

    def put(self, look: Look, beat: Callable[[], None]) -> None:
        """Put a look after the one before has been taken; meanwhile call `beat` again and again."""
        with self._condition:
            while self._look is not None and not self._is_closed:
                self._condition.wait(WAIT_STEP_S)
                beat()
            self._look = look
        self._announce()

    def take(self) -> Look | None:
        """Return the look that waits, to be delivered; None if there is none."""
        with self._condition:
            look, self._look = self._look, None
            self._deliveries += look is not None
            self._condition.notify_all()
            return look

    def confirm(self) -> None:
        """Record the delivery of a look that was taken."""
        with self._condition:
            self._deliveries -= 1
            self._condition.notify_all()

    def drain(self, beat: Callable[[], None]) -> None:
        """Wait until all looks have been taken and delivered."""
        with self._condition:
            while (self._look is not None or self._deliveries) and not self._is_closed:
                self._condition.wait(WAIT_STEP_S)
                beat()

    def close(self) -> None:
        """End all waits, now and later."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()


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
    _, jpeg = cv2.imencode(".jpg", upright, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return jpeg.tobytes(), (upright.shape[1], upright.shape[0])
