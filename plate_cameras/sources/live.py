"""Plays a live stream: follows its packets, and offers looks while something moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from av.video.frame import VideoFrame

from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import Camera
from plate_cameras.sources.capture import LiveCapture, VideoPacket, seconds_of
from plate_cameras.sources.clocks import StreamClock
from plate_cameras.sources.looks import Look, LookSlot, LumaConverter
from plate_cameras.sources.motion import Luma, MotionGate, region_of_motion
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.network.policy import MAX_PIXELS
from plate_cameras.sources.selection import SelectiveDecoder
from plate_cameras.sources.status import Limits, Progress

MIN_FRAMES = 4
"""Frames that must be the same. Key frames of some cameras come every ten seconds only."""


class FreezeDetector:
    """Notices an encoder that repeats one picture. The noise of a real sensor changes each frame.

    Args:
        frozen_s: Time without a change after which a stream is frozen.
    """

    def __init__(self, frozen_s: float) -> None:
        self._frozen_s = frozen_s
        self._luma: Luma | None = None
        self._since_s = 0.0
        self._repeats = 0

    def update(self, luma: Luma, time_s: float) -> bool:
        """Take the next picture, and tell whether it is the same as the one before."""
        if self._luma is not None and np.array_equal(luma, self._luma):
            self._repeats += 1
            return True
        self._luma, self._since_s, self._repeats = luma, time_s, 0
        return False

    def is_frozen(self, time_s: float) -> bool:
        """Tell whether the stream is frozen at a time."""
        return self._repeats >= MIN_FRAMES and time_s - self._since_s >= self._frozen_s


MOTION_STEP_S = 0.2
"""Shortest time between two pictures that are compared."""
BLIND_S = 30.0
"""A stream is opened again if its packets give no frame for this time. A frame is decoded every few
seconds, or after 20 s in a stream without key frames."""


class LivePlayback:
    """One connection to a stream.

    Everything follows the arrival of packets: their time stamps may be wrong in all ways. The time
    stamps only tell the times of the looks, see `StreamClock`.
    """

    def __init__(
        self,
        capture: LiveCapture,
        camera: Camera,
        limits: Limits,
        *,
        slot: LookSlot,
        progress: Progress,
    ) -> None:
        self._capture, self._camera, self._limits = capture, camera, limits
        self._slot, self._progress = slot, progress
        self._clock = StreamClock()
        self._decoder = SelectiveDecoder(capture, camera.looks_per_s, progress.beat)
        self._gate = MotionGate(camera.motion_threshold, region_of_motion(camera))
        self._freeze = FreezeDetector(limits.frozen_s)
        self._luma = LumaConverter()
        self._arrival_s = self._comparison_s = self._next_s = float("-inf")
        self._last_frame_s: float | None = None  # arrival of the last packet that gave a frame
        self._has_changed = True  # since the last look

    def configure(self, camera: Camera) -> None:
        """Take over other zones and masks. Another thread may call this."""
        self._gate.region = region_of_motion(camera)

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Play until the stream ends or `goes_on` returns false.

        Raises:
            SourceError: The stream cannot be read any more, or its packets give no frames.
        """
        for packet in self._capture.packets():
            self._progress.beat()
            if not goes_on():
                return
            if packet.size:
                self._take(packet)

    def _take(self, packet: VideoPacket) -> None:
        self._progress.number += 1
        wall_s, self._arrival_s = unix_s(), steady_s()
        self._clock.observe(
            self._stamp_s(packet),
            self._arrival_s,
            unix_s=wall_s,
            realtime_s=self._capture.realtime_s,
        )
        for frame in self._decoder.take(packet, self._arrival_s, moves=self._gate.is_open):
            self._last_frame_s = self._arrival_s
            self._show(frame)
        self._check_sight()

    def _check_sight(self) -> None:
        if self._last_frame_s is None:
            self._last_frame_s = self._arrival_s
        if self._arrival_s - self._last_frame_s > BLIND_S:
            raise SourceError(
                f"packets came for {BLIND_S:g} s, but no frame could be decoded: they are damaged,"
                f" or larger than {MAX_PIXELS / 1e6:g} million pixels"
            )

    def _stamp_s(self, part: VideoFrame | VideoPacket) -> float | None:
        return seconds_of(part) if self._capture.has_times else None

    def _show(self, frame: VideoFrame) -> None:
        """Compare a frame with the frames before it, and offer it."""
        self._progress.decoded += 1
        time_s, clock = self._clock.time_of(self._stamp_s(frame))
        now_s = self._arrival_s
        if now_s >= self._next_s or now_s - self._comparison_s >= MOTION_STEP_S:
            self._compare(frame, now_s)
        is_due = now_s >= self._next_s and self._has_changed
        look = Look(frame, self._progress.number, time_s, clock, self._clock.moment_s)
        if is_due:
            self._set_next(now_s)
            self._has_changed = False
        if is_due or self._gate.is_open:
            self._slot.offer(look, is_due=is_due)

    def _compare(self, frame: VideoFrame, now_s: float) -> None:
        self._comparison_s = now_s
        luma, was_open = self._luma.convert(frame), self._gate.is_open
        if not self._freeze.update(luma, now_s):
            self._has_changed = True
        if self._gate.update(luma, now_s) and not was_open:
            self._next_s = min(self._next_s, now_s)
        self._progress.motion = self._gate.is_open
        self._progress.state = "frozen" if self._freeze.is_frozen(now_s) else "playing"

    def _set_next(self, now_s: float) -> None:
        """Set the time of the next look. Looks keep their rate, whatever the stream's rate is."""
        pause_s = 1 / self._camera.looks_per_s if self._gate.is_open else self._limits.rest_look_s
        self._next_s = max(self._next_s + pause_s, now_s + pause_s / 2)
