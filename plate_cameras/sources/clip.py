"""Plays a file: every frame is decoded, and no look is left out."""

from __future__ import annotations

from collections.abc import Callable

import av
from av.video.frame import VideoFrame

from plate_cameras.sources.capture import Capture, VideoPacket, seconds_of
from plate_cameras.sources.clip_times import ClipTimes
from plate_cameras.sources.failures import SourceError
from plate_cameras.sources.looks import Look, LookSlot
from plate_cameras.sources.progress import Progress

ROUNDING_S = 1e-6
NO_FRAME = "none of its frames can be decoded: it is damaged, or they are too large"


class ClipPlayback:
    """Plays a file once.

    Args:
        capture: The open file.
        looks_per_s: Looks a second of the file's time.
        after_s: Time of the last look that was handed on before; None from the start.
        slot: Takes the looks, and is waited for.
        progress: Takes the counts.
    """

    def __init__(
        self,
        capture: Capture,
        looks_per_s: float,
        after_s: float | None,
        *,
        slot: LookSlot,
        progress: Progress,
    ) -> None:
        self._capture, self._pause_s, self._after_s = capture, 1 / looks_per_s, after_s
        self._slot, self._progress = slot, progress
        self._times = ClipTimes(capture.rate, capture.start_s, may_jump=capture.may_jump)
        self._next_s = 0.0
        self._number = 0

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Play to the end, or until `goes_on` returns false.

        Raises:
            SourceError: The file cannot be read, or none of its frames can be decoded.
        """
        self._progress.state = "playing"
        self._capture.use_all_cores()
        for packet in self._capture.packets():
            self._progress.beat()
            if not goes_on():
                return
            for frame in self._decode(packet):
                self._show(frame)
        if not self._number:
            raise SourceError(f"cannot read {self._capture.shown}: {NO_FRAME}")
        self._slot.drain(self._progress.beat)

    def _decode(self, packet: VideoPacket) -> list[VideoFrame]:
        """Decode a packet; one that is damaged is left out."""
        try:
            return self._capture.decode(packet)
        except av.FFmpegError:
            self._progress.last_error = "parts of the file are damaged"
            return []

    def _show(self, frame: VideoFrame) -> None:
        self._progress.decoded += 1
        self._number += 1
        self._progress.number = self._number
        time_s = self._times.time_of(seconds_of(frame))
        if time_s < self._next_s - ROUNDING_S:
            return
        self._next_s = max(self._next_s + self._pause_s, time_s + self._pause_s / 2)
        if self._after_s is None or time_s > self._after_s + ROUNDING_S:
            look = Look(frame, self._number, time_s, "file")
            self._slot.put(look, self._progress.beat)
