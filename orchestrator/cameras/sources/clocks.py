"""Clocks of streams: the time of a frame, from the time stamps of its stream."""

from __future__ import annotations

from orchestrator.cameras.frames import Clock

MOST_OFF_S = 60.0
"""A camera's clock that is off by more than this is not believed."""
JUMP_S = 2.0
"""Time stamps that leave the time of arrival by more than this have jumped."""
LATE_S = 5.0
"""Packets that are late for longer than this are late for good."""
DRIFT_S = 0.5
"""Drift of a camera's time stamps that is corrected. Their clock may lose seconds a day."""
SETTLED_S = 10.0
"""Time until the delay of the network is known well enough to notice drift."""
LEAST_STEP_S = 0.001
RISE = 0.0005
"""Rate at which the least delay is forgotten: crystals differ by less."""


class StreamClock:
    """Gives times to the frames of one connection.

    A time stamp (pts) counts from an unknown moment. The clock finds this moment in two ways. The
    camera says it (RTCP sender reports); or it is the earliest that fits the arrival of packets.
    """

    def __init__(self) -> None:
        self._zero_s: float | None = None  # Unix time of the time stamp 0, by arrival
        self._camera_zero_s: float | None = None  # the same, as the camera says
        self._ahead_s: float | None = None  # the second minus the first, when they had settled
        self._started_s = 0.0
        self._late_since_s: float | None = None
        self._last_pts_s: float | None = None
        self._arrived_s = 0.0
        self._broken = False
        self._last_s = float("-inf")

    def observe(self, pts_s: float | None, arrived_s: float, realtime_s: float | None) -> None:
        """Take the time stamp of a packet.

        Args:
            pts_s: Its time stamp; None if it has none.
            arrived_s: Unix time of its arrival.
            realtime_s: Unix time of the time stamp 0 as the camera says; None if it does not.
        """
        previous_s, passed_s = self._last_pts_s, arrived_s - self._arrived_s
        self._arrived_s, self._last_pts_s = arrived_s, pts_s
        if pts_s is None:
            return
        zero_s = arrived_s - pts_s
        if self._zero_s is None:
            self._zero_s, self._started_s = zero_s, arrived_s
        elif previous_s is not None and (pts_s == previous_s or pts_s < previous_s - JUMP_S / 2):
            self._zero_s, self._broken = zero_s, True
        elif self._stays_late(zero_s, arrived_s):
            self._zero_s = zero_s
        else:
            self._zero_s = min(zero_s, self._zero_s + RISE * max(0.0, passed_s))
        self._follow_camera(realtime_s, arrived_s)

    def time_of(self, pts_s: float | None) -> tuple[float, Clock]:
        """Return the Unix time of a frame, always later than that of the frame before."""
        clock: Clock = "wall"
        if pts_s is None or self._zero_s is None:
            time_s = self._arrived_s
        elif self._camera_zero_s is not None:
            time_s, clock = pts_s + self._camera_zero_s, "stream"
        else:
            time_s = min(pts_s + self._zero_s, self._arrived_s)
        self._last_s = max(time_s, self._last_s + LEAST_STEP_S)
        return self._last_s, clock

    def _stays_late(self, zero_s: float, arrived_s: float) -> bool:
        """Tell whether all packets of some seconds came late. After a stall only some do."""
        assert self._zero_s is not None
        if zero_s - self._zero_s <= JUMP_S:
            self._late_since_s = None
        elif self._late_since_s is None:
            self._late_since_s = arrived_s
        return self._late_since_s is not None and arrived_s - self._late_since_s > LATE_S

    def _follow_camera(self, realtime_s: float | None, arrived_s: float) -> None:
        """Believe the camera's clock unless it is far off; correct its drift."""
        assert self._zero_s is not None
        if realtime_s is None or self._broken or abs(realtime_s - self._zero_s) > MOST_OFF_S:
            self._camera_zero_s = None
            return
        if self._camera_zero_s is None:
            self._camera_zero_s = realtime_s
        ahead_s = self._camera_zero_s - self._zero_s
        if self._ahead_s is None and arrived_s - self._started_s > SETTLED_S:
            self._ahead_s = ahead_s
        if self._ahead_s is not None and abs(ahead_s - self._ahead_s) > DRIFT_S:
            self._camera_zero_s = self._zero_s + self._ahead_s
