"""Players: threads that play one camera each, and open its source again after failures."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import replace

from orchestrator.host.retry import exponential_s
from plate_cameras.clocks import local_now, steady_s
from plate_cameras.configuration import Camera
from plate_cameras.setting_parts import is_watched
from plate_cameras.sources.capture import Capture, LiveCapture
from plate_cameras.sources.clip import ClipPlayback
from plate_cameras.sources.live import LivePlayback
from plate_cameras.sources.looks import LookSlot
from plate_cameras.sources.messages import Ended, Message, Open, Ready, Report
from plate_cameras.sources.network.addresses import address_of
from plate_cameras.sources.network.failures import SourceError, log_fault
from plate_cameras.sources.status import Progress

LOG = logging.getLogger(__name__)
NO_THREAD = "no thread is free to play it. It is tried again"
STEP_S = 0.5
"""Longest wait without a heartbeat, and time between looks at the schedule."""


class Player(threading.Thread):
    """Plays one camera until it is closed or its file ends.

    Attributes:
        slot: The look that waits.
    """

    def __init__(self, opening: Open, send: Callable[[Message], None]) -> None:
        super().__init__(name=opening.camera.name, daemon=True)
        self._opening, self._send = opening, send
        self._address = address_of(opening.camera, opening.limits)
        self._start_lock, self._is_closing = threading.Lock(), threading.Event()
        self._progress = Progress(number=opening.number)
        self._is_clip = self._address.is_file
        self._failures = 0
        self._live: LivePlayback | None = None
        self._check_s, self._is_on = float("-inf"), True
        self.slot = LookSlot(lambda: send(Ready(opening.id)))

    def report(self) -> Report:
        """Return the state of the camera."""
        counts = {name: value for name, value in vars(self._progress).items() if name != "beat_s"}
        silent_s = steady_s() - self._progress.beat_s
        return Report(self._opening.id, silent_s=silent_s, dropped=self.slot.dropped, **counts)

    def configure(self, camera: Camera) -> None:
        """Take over other zones and masks. The source stays open."""
        self._opening = replace(self._opening, camera=camera)
        if (live := self._live) is not None:
            live.configure(camera)

    def tell(self, error: str) -> None:
        """Take notice of a failure that does not end the stream."""
        self._progress.last_error = error

    def close(self) -> None:
        """Stop soon. The thread is not waited for, because it may hang."""
        self._is_closing.set()
        self.slot.close()

    def ensure_started(self) -> None:
        """Start the thread unless it runs. Without a free thread, report that; call this again."""
        with self._start_lock:
            if self.ident is not None:
                return
            try:
                self.start()
            except RuntimeError:
                self._progress.state, self._progress.last_error = "waiting", NO_THREAD
                self._progress.beat()

    def run(self) -> None:
        """Play, and try again after any failure."""
        self._wait(self._opening.pause_s)
        while not self._is_closing.is_set():
            try:
                if not self._is_in_hours():
                    self._progress.state = "off"
                    self._wait(STEP_S)
                elif self._play():
                    return
            except Exception as error:
                self._retry_later(self._describe_fault(error))

    def _play(self) -> bool:
        """Play once. Return true if a file has ended, so that there is nothing more to play."""
        self._progress.state, started_s = "connecting", steady_s()
        error = self._attempt()
        if not self._goes_on():
            return False
        if self._is_clip:
            self._progress.state = "ended"
            self._progress.last_error = error or self._progress.last_error
            self._send(self.report())
            self._send(Ended(self._opening.id, error))
            return True
        if steady_s() - started_s > self._opening.limits.settled_s:
            self._failures = 0
        self._retry_later(error or f"{self._address.label}: the stream has ended")
        return False

    def _attempt(self) -> str:
        """Play until the source ends. Return what failed, empty if nothing did."""
        try:
            with Capture.open(self._address, self._opening.limits) as capture:
                self._is_clip = capture.is_clip
                if not capture.is_picture:
                    self._play_capture(capture)
                    return ""
            self._play_pictures()
        except SourceError as error:
            return str(error)
        except Exception as error:
            return self._describe_fault(error)
        return ""

    def _describe_fault(self, error: Exception) -> str:
        """Log a fault of ours, and return a sentence. The text of the error may hold the URL."""
        log_fault(self.name, error)
        return f"{self._address.label}: {type(error).__name__} in the decoder"

    def _play_pictures(self) -> None:
        """Play a camera that sends one picture a request."""
        from plate_cameras.sources.snapshots import SnapshotCapture  # aiohttp is large

        looks_per_s, timeout_s = self._opening.camera.looks_per_s, self._opening.limits.read_s
        with SnapshotCapture(self._address, looks_per_s, timeout_s) as capture:
            self._play_live(capture)

    def _play_capture(self, capture: Capture) -> None:
        self._progress.beat()
        if not capture.is_clip:
            self._play_live(capture)
            return
        looks_per_s, after_s = self._opening.camera.looks_per_s, self._opening.after_s
        clip = ClipPlayback(capture, looks_per_s, after_s, slot=self.slot, progress=self._progress)
        clip.run(self._goes_on)

    def _play_live(self, capture: LiveCapture) -> None:
        opening, slot, progress = self._opening, self.slot, self._progress
        live = LivePlayback(capture, opening.camera, opening.limits, slot=slot, progress=progress)
        self._live = live
        live.configure(self._opening.camera)  # it may have changed a moment ago
        live.run(self._goes_on)

    def _retry_later(self, error: str) -> None:
        limits = self._opening.limits
        self._progress.state, self._progress.last_error = "waiting", error
        self._progress.motion = False
        pause_s = exponential_s(self._failures, limits.first_pause_s, limits.max_pause_s)
        self._failures += 1
        self._wait(pause_s * random.uniform(0.5, 1))
        self._progress.reconnects += 1

    def _goes_on(self) -> bool:
        return not self._is_closing.is_set() and self._is_in_hours()

    def _is_in_hours(self) -> bool:
        """Tell whether the camera is followed now by its schedule; a file always is."""
        now_s = steady_s()
        if now_s - self._check_s > STEP_S:
            schedule, self._check_s = self._opening.camera.schedule, now_s
            self._is_on = self._address.is_file or is_watched(schedule, local_now())
        return self._is_on

    def _wait(self, pause_s: float) -> None:
        """Wait with a heartbeat, until the camera is closed at the latest."""
        until_s = steady_s() + pause_s
        while not self._is_closing.is_set() and (left_s := until_s - steady_s()) > 0:
            self._progress.beat()
            self._is_closing.wait(min(STEP_S, left_s))
        self._progress.beat()
