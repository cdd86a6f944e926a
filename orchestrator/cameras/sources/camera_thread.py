"""Follows one source in a thread: opens it again and again, and offers frames worth sending."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.motion import STANDING_S, Luma, MotionGate
from orchestrator.cameras.schedule import is_watched
from orchestrator.cameras.sources.newest_frame import NewestFrame, OfferedFrame
from orchestrator.cameras.sources.source_status import SourceStatus, State
from orchestrator.cameras.sources.stream_reader import DecodedFrame, StreamError, StreamReader
from orchestrator.system.backoff import exponential_s

LOG = logging.getLogger(__name__)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Pauses before a source is opened again. They double, and are shortened at random."""
SCHEDULE_EVERY_S = 1.0
FROZEN_S = 10.0
"""A stream whose picture has not changed at all for this time is frozen: cameras have noise."""
LONGEST_KEY_INTERVAL_S = 1.5
"""With key frames farther apart, all frames are decoded: a car could pass between two of them."""
HEALTHY_S = 5.0
"""A stream that has played so long begins again with the shortest pause."""


class CameraThread(threading.Thread):
    """Follows one source.

    Attributes:
        newest: The frame to send.
        status: The state of the source.
        beat_s: When it last did something, by `time.monotonic`.

    Args:
        camera: The camera.
        on_ready: Called when there is a frame to take.
        on_end: Called at the end of a file.
        after_s: Frames of a file up to this time are left out: they were taken before.
    """

    def __init__(
        self,
        camera: Camera,
        on_ready: Callable[[], None],
        on_end: Callable[[], None],
        after_s: float = -math.inf,
    ) -> None:
        super().__init__(name=camera.name, daemon=True)
        self.newest = NewestFrame(on_ready)
        self.status = SourceStatus()
        self.beat_s = time.monotonic()
        self._camera = camera
        self._on_end = on_end
        self._after_s = after_s
        self._stopped = threading.Event()
        self._number = 0

    def run(self) -> None:
        """Follow the source until it ends or is stopped."""
        failures = 0
        while not self._stopped.is_set():
            if not is_watched(self._camera.schedule, datetime.now()):
                self._pause("off", SCHEDULE_EVERY_S)
                continue
            opened_s = time.monotonic()
            try:
                if self._follow():
                    return
                continue
            except StreamError as error:
                reason = str(error)
            except Exception as error:  # other cameras of this process go on
                LOG.exception("%s: decoding failed", self._camera.name)
                reason = f"decoding failed: {type(error).__name__}"
            failures = 0 if time.monotonic() - opened_s > HEALTHY_S else failures
            self.note(last_error=reason, reconnects=self.status.reconnects + 1)
            pause_s = exponential_s(failures, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            self._pause("waiting", pause_s * random.uniform(0.5, 1))
            failures += 1

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopped.set()
        self.newest.close()

    def note(self, **changes: object) -> None:
        """Change the status, and tell that the source is alive."""
        self.status = replace(self.status, **changes)  # type: ignore[arg-type]
        self.beat_s = time.monotonic()

    def _follow(self) -> bool:
        """Open the source once and offer its frames; return whether it has ended for good.

        Raises:
            StreamError: It cannot be opened or read, or a stream has ended.
        """
        self.note(state="connecting")
        with StreamReader(self._camera.url) as reader:
            sampler = _Sampler(self._camera, is_file=reader.is_file)
            for frame in reader.frames():
                if self._stopped.is_set():
                    return True
                if not is_watched(self._camera.schedule, datetime.now()):
                    return False
                is_worth = sampler.look(frame)
                reader.decode_key_frames_only(is_wanted=sampler.is_resting)
                self._note_frame(frame, reader, sampler)
                if is_worth and not (reader.is_file and frame.time_s <= self._after_s):
                    self._offer(OfferedFrame(self._number, frame, reader.clock), reader.is_file)
            if not reader.is_file:
                raise StreamError("the stream has ended")
        self.note(state="ended")
        self._on_end()
        return True

    def _note_frame(self, frame: DecodedFrame, reader: StreamReader, sampler: _Sampler) -> None:
        self._number += 1
        state: State = "frozen" if sampler.is_frozen else "playing"
        self.note(
            state=state,
            decoded=self.status.decoded + 1,
            last_error="",
            delay_s=0.0 if reader.is_file else max(0.0, time.time() - frame.time_s),
            size_wh=frame.size_wh,
            clock=reader.clock,
            is_resting=sampler.is_resting,
            dropped=self.newest.dropped,
        )

    def _offer(self, frame: OfferedFrame, is_file: bool) -> None:
        if is_file:
            self.newest.put(frame)
        else:
            self.newest.replace(frame)

    def _pause(self, state: State, seconds: float) -> None:
        self.note(state=state)
        self._stopped.wait(seconds)


class _Sampler:
    """Chooses the frames that are worth sending: while something moves, at the camera's rate.

    Attributes:
        is_resting: Nothing moves, and key frames are close enough to notice when it does.
        is_frozen: The picture has not changed at all for long.
    """

    def __init__(self, camera: Camera, *, is_file: bool) -> None:
        self.is_resting = False
        self.is_frozen = False
        self._is_gated = not is_file and camera.motion_threshold > 0
        self._interval_s = 1 / camera.looks_per_s
        self._gate = MotionGate(camera)
        self._sent_s = -np.inf
        self._key_s: float | None = None
        self._key_interval_s = np.inf
        self._luma: Luma | None = None
        self._changed_s = -np.inf

    def look(self, frame: DecodedFrame) -> bool:
        """Look at a frame; return whether it is worth sending."""
        time_s = frame.time_s
        if not self._is_gated:
            return self._is_due(time_s, self._interval_s)
        self._note_key_frame(frame)
        luma = frame.to_luma()
        self._note_change(luma, time_s)
        is_open = self._gate.update(luma, time_s)
        are_keys_close = self._key_interval_s <= LONGEST_KEY_INTERVAL_S
        self.is_resting = not is_open and are_keys_close
        if self.is_frozen:
            return False
        return self._is_due(time_s, self._interval_s if is_open else STANDING_S)

    def _is_due(self, time_s: float, interval_s: float) -> bool:
        """Tell whether the next frame is due; a clock that goes back starts anew."""
        since_s = time_s - self._sent_s
        if 0 <= since_s < interval_s - 1e-3:
            return False
        self._sent_s = time_s
        return True

    def _note_key_frame(self, frame: DecodedFrame) -> None:
        if frame.is_key:
            if self._key_s is not None:
                self._key_interval_s = frame.time_s - self._key_s
            self._key_s = frame.time_s

    def _note_change(self, luma: Luma, time_s: float) -> None:
        is_same = self._luma is not None and np.array_equal(luma, self._luma)
        if not is_same:
            self._luma, self._changed_s = luma.copy(), time_s
        self.is_frozen = time_s - self._changed_s > FROZEN_S
