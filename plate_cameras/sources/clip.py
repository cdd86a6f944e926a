"""Plays a file: every frame is decoded, and no look is left out."""

from __future__ import annotations

from collections.abc import Callable

import av
from av.video.frame import VideoFrame

from plate_cameras.sources.capture import Capture, VideoPacket, seconds_of
from plate_cameras.sources.clocks import MIN_STEP_S
from plate_cameras.sources.looks import Look, LookSlot
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.status import Progress

USUAL_RATE = 25.0
"""Frames a second of a file that states no rate, or one that cannot be."""
MAX_RATE = 1000.0
MAX_GAP_S = 10.0
"""A longer gap is a jump, where the format allows jumps.

Source: FFmpeg, option `dts_delta_threshold`."""
OVERLAP_S = 1.0
"""Time stamps that go back by less follow frames without any, whose times were assumed."""


class ClipTimes:
    """Gives times to the frames of one file, in their order. Times always grow.

    Args:
        rate: Frames a second as the file states them; frames without time stamps are so far apart.
        start_s: Time stamp at which the file begins; None if it is not known.
        may_jump: True if the time stamps may jump ahead, as in recordings that were joined.
    """

    def __init__(self, rate: float | None, start_s: float | None, *, may_jump: bool) -> None:
        self._interval_s = 1 / (rate if rate and 0 < rate <= MAX_RATE else USUAL_RATE)
        self._start_s, self._may_jump = start_s, may_jump
        self._zero_s: float | None = None  # the time stamp of the time 0
        self._pts_s: float | None = None
        self._last_s: float | None = None

    def time_of(self, pts_s: float | None) -> float:
        """Return the time of the next frame, seconds from the start of the file.

        Args:
            pts_s: Its time stamp; None if it has none.
        """
        time_s = self._first_s(pts_s) if self._last_s is None else self._next_s(pts_s, self._last_s)
        if pts_s is not None and self._zero_s is None:
            self._zero_s = pts_s - time_s
        self._pts_s, self._last_s = self._pts_s if pts_s is None else pts_s, time_s
        return time_s

    def _first_s(self, pts_s: float | None) -> float:
        """Return the time of the first frame. The file may begin before it, by a few frames."""
        first_s = 0.0 if pts_s is None or self._start_s is None else pts_s - self._start_s
        return first_s if 0 <= first_s <= MAX_GAP_S else 0.0

    def _next_s(self, pts_s: float | None, last_s: float) -> float:
        following_s = last_s + self._interval_s
        if pts_s is None or pts_s == self._pts_s or self._zero_s is None:
            return following_s
        step_s = pts_s - self._zero_s - last_s
        if step_s < -OVERLAP_S or (self._may_jump and step_s > MAX_GAP_S):
            self._zero_s = pts_s - following_s
            return following_s
        return last_s + max(step_s, MIN_STEP_S)


ROUNDING_S = 1e-6
NO_FRAME = "none of its frames can be decoded: it is damaged, or they are too large"


class ClipPlayback:
    """Plays a file once.

    Args:
        looks_per_s: Looks a second of the file's time.
        after_s: Time of the last look delivered before; None at the start.
        slot: Takes the looks, and is waited for.
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
        self._capture, self._interval_s, self._after_s = capture, 1 / looks_per_s, after_s
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
            raise SourceError(f"cannot read {self._capture.label}: {NO_FRAME}")
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
        self._next_s = max(self._next_s + self._interval_s, time_s + self._interval_s / 2)
        if self._after_s is None or time_s > self._after_s + ROUNDING_S:
            look = Look(frame, self._number, time_s, "file")
            self._slot.put(look, self._progress.beat)
