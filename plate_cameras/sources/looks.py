"""Looks: the frames of a camera that wait to be taken, at most one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from av.video.frame import VideoFrame

from plate_cameras.frames import Clock

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
        self._in_delivery = 0  # looks: the next one is taken while another thread sends the last
        self._closed = False
        self.dropped = 0

    def offer(self, look: Look, *, due: bool) -> None:
        """Put a look.

        Args:
            look: The look. It replaces one that waits.
            due: True if it begins a new interval. One that waits then counts as dropped. A look
                that is not due only replaces another.
        """
        with self._condition:
            waits = self._look is not None
            if not waits and not due:
                return
            self.dropped += waits and due
            self._look = look
        if not waits:
            self._announce()

    def put(self, look: Look, beat: Callable[[], None]) -> None:
        """Put a look after the one before has been taken; meanwhile call `beat` again and again."""
        with self._condition:
            while self._look is not None and not self._closed:
                self._condition.wait(WAIT_STEP_S)
                beat()
            self._look = look
        self._announce()

    def take(self) -> Look | None:
        """Return the look that waits, to be delivered; None if there is none."""
        with self._condition:
            look, self._look = self._look, None
            self._in_delivery += look is not None
            self._condition.notify_all()
            return look

    def confirm(self) -> None:
        """Record the delivery of a look that was taken."""
        with self._condition:
            self._in_delivery -= 1
            self._condition.notify_all()

    def drain(self, beat: Callable[[], None]) -> None:
        """Wait until all looks have been taken and delivered."""
        with self._condition:
            while (self._look is not None or self._in_delivery) and not self._closed:
                self._condition.wait(WAIT_STEP_S)
                beat()

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
