"""Clocks of streams: the moment of a frame, from its arrival and the time stamps of its stream."""

from __future__ import annotations

from math import isfinite

from plate_cameras.frames import Clock

MAX_OFFSET_S = 60.0
"""A camera's clock that is off by more than this is not believed."""
JUMP_S = 2.0
"""Time stamps that leave the time of arrival by more than this have jumped."""
BACK_S = 1.0
"""If frames are reordered, time stamps of packets go back by less than this."""
LATE_S = 5.0
"""If packets are late for longer than this, their delay counts as permanent. No moment of a frame
is further back."""
DISTRUST_S = 10.0
"""After a wrong time stamp, time stamps are ignored for this time."""
DRIFT_S = 0.5
"""Drift of a camera's time stamps that is corrected. Their clock may lose seconds a day."""
SETTLED_S = 10.0
"""Time until the delay of the network is known well enough to notice drift."""
MIN_STEP_S = 0.001
RISE = 0.0005
"""Rate at which the least delay is forgotten: crystals differ by less."""


class StreamClock:
    """Gives times to the frames of one connection.

    A time stamp (pts) counts from an unknown moment. The clock finds this moment by the earliest
    that fits the arrival of packets. So each frame has a steady moment, which follows the arrival
    of packets whatever the time stamps are. The Unix time of a frame is its moment and an offset:
    that of the camera, if it says it (RTCP sender reports) and is believed, or of this machine.

    Attributes:
        moment_s: Steady moment of the last frame that `time_of` was asked about.
    """

    def __init__(self) -> None:
        self.moment_s = float("-inf")
        self._arrival_s = self._wall_offset_s = 0.0
        self._stamps = _Stamps()
        self._camera = _CameraClock()

    def observe(
        self,
        pts_s: float | None,
        arrival_s: float,
        *,
        unix_s: float,
        realtime_s: float | None,
    ) -> None:
        """Take the time stamp of a packet.

        Args:
            pts_s: Its time stamp; None if it has none.
            arrival_s: Steady time of its arrival.
            unix_s: Unix time of its arrival.
            realtime_s: Unix time of the time stamp 0 by the camera; None if it sends none.
        """
        self._arrival_s, self._wall_offset_s = arrival_s, unix_s - arrival_s
        if pts_s is None or not isfinite(pts_s):
            self._stamps.distrust(self._arrival_s)
            return
        if self._stamps.observe(pts_s, self._arrival_s):
            self._camera.lose()
        self._camera.observe(realtime_s, self._stamps.zero_s, self._wall_offset_s, self._arrival_s)

    def time_of(self, pts_s: float | None) -> tuple[float, Clock]:
        """Return the Unix time of a frame. Its steady moment is later than the last frame's."""
        moment_s = self._stamps.moment_of(pts_s, self._arrival_s)
        self.moment_s = max(moment_s, self.moment_s + MIN_STEP_S)
        if self._camera.offset_s is None:
            return self.moment_s + self._wall_offset_s, "wall"
        return self.moment_s + self._camera.offset_s, "stream"


class _Stamps:
    """The time stamps of a stream, compared with the arrival of its packets."""

    def __init__(self) -> None:
        self.zero_s = 0.0  # steady moment of the time stamp 0
        self._has_zero = False
        self._pts_s = self._last_arrival_s = 0.0
        self._late_since_s: float | None = None
        self._distrust_end_s = float("-inf")

    def observe(self, pts_s: float, arrival_s: float) -> bool:
        """Take a time stamp. Return whether the time stamps count from another moment now."""
        zero_s = arrival_s - pts_s
        step_s, elapsed_s = pts_s - self._pts_s, arrival_s - self._last_arrival_s
        self._pts_s, self._last_arrival_s = pts_s, arrival_s
        if not self._has_zero:
            self.zero_s, self._has_zero = zero_s, True
        elif step_s < -BACK_S or self.zero_s - zero_s > JUMP_S:
            self.zero_s = zero_s
            self.distrust(arrival_s)
            return True
        elif step_s == 0:
            self.distrust(arrival_s)
        elif self._stays_late(zero_s, arrival_s):
            self.zero_s = zero_s
        else:
            self.zero_s = min(zero_s, self.zero_s + RISE * max(0.0, elapsed_s))
        return False

    def distrust(self, arrival_s: float) -> None:
        """Let no time stamp count for a while."""
        self._distrust_end_s = arrival_s + DISTRUST_S

    def moment_of(self, pts_s: float | None, arrival_s: float) -> float:
        """Return the steady moment of a frame: not in the future, and not far back."""
        if pts_s is None or not isfinite(pts_s) or arrival_s < self._distrust_end_s:
            return arrival_s
        return min(max(pts_s + self.zero_s, arrival_s - LATE_S), arrival_s)

    def _stays_late(self, zero_s: float, arrival_s: float) -> bool:
        """Tell whether all packets of some seconds came late. After a stall only some do."""
        if zero_s - self.zero_s <= JUMP_S:
            self._late_since_s = None
        elif self._late_since_s is None:
            self._late_since_s = arrival_s
        return self._late_since_s is not None and arrival_s - self._late_since_s > LATE_S


class _CameraClock:
    """The clock of a camera, by its sender reports.

    Attributes:
        offset_s: Its Unix time minus the steady moment; None while it is not known or believed.
    """

    def __init__(self) -> None:
        self.offset_s: float | None = None
        self._realtime_s: float | None = None  # as it was reported last
        self._zero_s = 0.0  # the same, with drift corrected
        self._settled_offset_s: float | None = None
        self._report_s = 0.0
        self._is_lost = False

    def lose(self) -> None:
        """Believe it no more: the time stamps count from another moment than it has reported."""
        self._is_lost, self.offset_s = True, None

    def observe(
        self, realtime_s: float | None, zero_s: float, wall_offset_s: float, arrival_s: float
    ) -> None:
        """Take the camera's time, and correct its drift.

        Args:
            realtime_s: Unix time of the time stamp 0 by the camera; None if it sends none.
            zero_s: Steady moment of the time stamp 0.
            wall_offset_s: Unix time of this machine minus its steady time.
            arrival_s: Steady time of the packet.
        """
        self.offset_s = None
        if realtime_s is None or not isfinite(realtime_s) or self._is_lost:
            return
        if realtime_s != self._realtime_s:
            self._realtime_s = self._zero_s = realtime_s
            self._settled_offset_s, self._report_s = None, arrival_s
        offset_s = self._zero_s - zero_s
        if self._settled_offset_s is None and arrival_s - self._report_s > SETTLED_S:
            self._settled_offset_s = offset_s
        if self._settled_offset_s is not None and abs(offset_s - self._settled_offset_s) > DRIFT_S:
            offset_s = self._settled_offset_s
            self._zero_s = zero_s + offset_s
        if abs(offset_s - wall_offset_s) <= MAX_OFFSET_S:
            self.offset_s = offset_s
