"""The frames of one camera, for the watcher."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from orchestrator.errors import SettingsError
from orchestrator.host.text_lines import to_line
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.frames import Clock, Frame
from plate_cameras.sources.messages import (
    Close,
    Configure,
    Ended,
    Message,
    Nothing,
    Open,
    Picture,
    Ready,
    Report,
    Want,
)
from plate_cameras.sources.network.addresses import parse_address
from plate_cameras.sources.status import Limits, SourceStatus, State

LOG = logging.getLogger(__name__)
ANSWER_S = 10.0
"""Longest wait for a frame after its announcement."""
DEATHS_S = 600.0
"""Time for which an end of its process counts against a camera."""
MAX_ATTEMPTS = 3
"""Processes that may end over a file before it is given up, if none of them sends a frame."""


class CameraStream:
    """The frames of one camera. `Decoders.open` makes one.

    Args:
        number: Number of the camera in messages.

    Attributes:
        send: Sends a message to the process that plays the camera; set by the group.
        leave: Takes the camera out of its process; set by the group.
        attempts: Processes that ended since the last frame.
    """

    def __init__(self, number: int, camera: Camera, limits: Limits) -> None:
        self.number, self.camera = number, camera
        self.send: Callable[[Message], None] = lambda message: None
        self.leave: Callable[[], None] = lambda: None
        self.attempts = 0
        self._limits = limits
        self._status = self._base = SourceStatus()
        self._frames = 0
        self._has_frame = asyncio.Event()
        self._answer: asyncio.Future[Frame | None] | None = None
        self._has_ended = False
        self._failure = ""
        self._deaths_s: list[float] = []

    @property
    def status(self) -> SourceStatus:
        """The state and the counts of the source."""
        return self._status

    async def wait_for_frame(self) -> bool:
        """Wait for a frame. Return False at the end of the stream.

        Raises:
            SettingsError: The camera's file cannot be played.
        """
        if self._answer is None:
            await self._has_frame.wait()
        if self._failure:
            raise SettingsError(f"{self.camera.name}: {self._failure}")
        return not self._has_ended or self._answer is not None

    async def next(self) -> Frame | None:
        """Return the newest frame, or a file's next one.

        A frame is asked for once: who comes after a caller that gave up waits for the same answer,
        since the answers to two questions may overtake each other.

        Returns:
            None at the end, or if the frame that was there is lost or late.
        """
        if self._answer is None:
            if self._has_ended or not self._has_frame.is_set():
                return None
            self._has_frame.clear()
            self._answer = asyncio.get_running_loop().create_future()
            self.send(Want(self.number))
        await asyncio.wait([self._answer], timeout=ANSWER_S)
        if not self._answer.done():
            return None
        frame, self._answer = self._answer.result(), None
        return frame

    def configure(self, camera: Camera) -> None:
        """Take over other zones and masks. The source stays open."""
        self.camera = camera
        self.send(Configure(self.number, camera))

    async def close(self) -> None:
        """Stop playing the camera."""
        self._end("")
        self.send(Close(self.number))
        self.leave()

    def make_opening(self, pause_s: float = 0.0) -> Open:
        """Return the message that begins or goes on to play the camera."""
        after_s = self._status.last_frame_s if self._status.clock == "file" else None
        return Open(
            self.number,
            camera=self.camera,
            limits=self._limits,
            number=self._frames,
            after_s=after_s,
            pause_s=pause_s,
        )

    def receive(self, message: Message) -> None:
        """Take a message of the process that plays the camera."""
        if isinstance(message, Report):
            self._update(message)
        elif isinstance(message, Ready):
            self._has_frame.set()
        elif isinstance(message, Picture):
            self._take(message)
        elif isinstance(message, Nothing):
            self._resolve(None)
        elif isinstance(message, Ended):
            self._end(to_line(message.error))

    def interrupt(self, reason: str) -> None:
        """Take notice that the process has ended; `reason` is a sentence."""
        if self._has_ended:
            return
        self.attempts += 1
        self._has_frame.clear()
        self._resolve(None)
        status = self._status
        self._status = self._base = replace(
            status,
            state="waiting",
            motion=False,
            reconnects=status.reconnects + 1,
            last_error=reason,
        )
        is_file = parse_address(self.camera.url, self._limits).is_file
        if is_file and self.attempts >= MAX_ATTEMPTS:
            self._end(reason)

    def note_death(self) -> int:
        """Count an end of the decoder's process that the camera may have caused.

        Return the number of ends within `DEATHS_S`. So a camera that ends its process now and then
        is found, too.
        """
        now_s = steady_s()
        recent_s = [death_s for death_s in self._deaths_s if now_s - death_s < DEATHS_S]
        self._deaths_s = [*recent_s, now_s]
        self._status = replace(self._status, deaths=self._status.deaths + 1)
        return len(self._deaths_s)

    def _update(self, report: Report) -> None:
        base, last_error = self._base, to_line(report.last_error)
        if last_error and last_error != self._status.last_error:
            LOG.warning("%s: %s", self.camera.name, last_error)
        self._frames = max(self._frames, report.number)
        self._status = replace(
            self._status,
            state=cast(State, report.state),
            decoded=base.decoded + report.decoded,
            dropped=base.dropped + report.dropped,
            reconnects=base.reconnects + report.reconnects,
            last_error=last_error or base.last_error,
            motion=report.motion,
        )

    def _take(self, picture: Picture) -> None:
        clock = cast(Clock, picture.clock)
        width, height = picture.size_wh
        frame = Frame(
            self.camera.name,
            picture.number,
            picture.time_s,
            clock,
            picture.jpeg,
            (width, height),
            picture.steady_s,
        )
        self.attempts = 0
        self._status = replace(
            self._status,
            sent=self._status.sent + 1,
            delay_s=None if picture.steady_s is None else steady_s() - picture.steady_s,
            size_wh=frame.size_wh,
            clock=clock,
            last_frame_s=picture.time_s,
        )
        self._resolve(frame)

    def _resolve(self, frame: Frame | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(frame)

    def _end(self, failure: str) -> None:
        if self._has_ended:
            return
        self._has_ended, self._failure = True, failure
        self._status = replace(
            self._status, state="ended", last_error=failure or self._status.last_error
        )
        self._resolve(None)
        self._has_frame.set()
