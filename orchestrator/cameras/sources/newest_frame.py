"""The newest frame of one source, which the watcher takes when it can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.cameras.frames import Clock
from orchestrator.cameras.sources.stream_reader import DecodedFrame


@dataclass(frozen=True)
class OfferedFrame:
    """A decoded frame to send.

    Attributes:
        number: Number of the frame since the source was opened first.
        decoded: The frame.
        clock: The clock of its time.
    """

    number: int
    decoded: DecodedFrame
    clock: Clock


class NewestFrame:
    """Holds one frame: a newer one replaces it, unless the source must wait.

    Attributes:
        dropped: Frames that were replaced before they were taken.

    Args:
        on_ready: Called when there is a frame to take, once for each frame that was taken.
    """

    def __init__(self, on_ready: Callable[[], None]) -> None:
        self.dropped = 0
        self._on_ready = on_ready
        self._frame: OfferedFrame | None = None
        self._changed = threading.Condition()
        self._is_closed = False

    def replace(self, frame: OfferedFrame) -> None:
        """Offer a frame; an older one that nobody took is dropped."""
        with self._changed:
            is_first = self._frame is None
            self.dropped += not is_first
            self._frame = frame
        if is_first:
            self._on_ready()

    def put(self, frame: OfferedFrame) -> None:
        """Offer a frame after the one before it was taken; this may wait for ever."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is None or self._is_closed)
        self.replace(frame)

    def take(self) -> OfferedFrame | None:
        """Return the frame, if there is one."""
        with self._changed:
            frame, self._frame = self._frame, None
            self._changed.notify()
        return frame

    def is_empty(self) -> bool:
        """Tell whether the last frame was taken."""
        return self._frame is None

    def close(self) -> None:
        """Let a source that waits go on."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
