"""Times of a file's frames, from time stamps that may be missing, repeat or jump."""

from __future__ import annotations

from plate_cameras.sources.clocks import MIN_STEP_S

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
