"""Follows one camera: takes its frames, asks the service, and hands on the events of its passes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from orchestrator.errors import PlateError
from orchestrator.plates import Plates
from plate_cameras.background_tasks import describe
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame, Upload, Xyxy
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.sources.status import SourceStatus
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.watching.frame_recognizer import FrameRecognizer, ServiceHealth
from plate_cameras.watching.unfinished_pictures import Storing, UnfinishedPictures

LOG = logging.getLogger(__name__)
ADVANCE_EVERY_S = 1.0
"""Without frames, passes are closed after this time at the latest."""
PASSING_ERRORS = (PlateError, OSError, MemoryError)
"""Errors of services, of the system and of disks. They are no fault of a picture."""

Receive = Callable[[PassEvent], Awaitable[None]]
Permit = Callable[[Frame], Awaitable[bool]]
Notice = Callable[[Sighting], None]


class FrameStream(Protocol):
    """The frames of one camera."""

    async def wait_for_frame(self) -> bool:
        """Wait for a frame. Return False at the end of the stream."""

    async def next(self) -> Frame | None:
        """Return the newest frame, or a file's next one; None at the end."""

    async def close(self) -> None: ...
    def configure(self, camera: Camera) -> None:
        """Take over settings that need no other stream."""

    @property
    def status(self) -> SourceStatus: ...


@dataclass
class Counts:
    """Counts of one camera since it was opened."""

    frames: int = 0
    plates: int = 0
    passes: int = 0
    last_text: str = ""
    seconds: float = 0.0
    """Time of the last frame at the service, waiting for its turn included."""


@dataclass(frozen=True)
class AnsweredFrame:
    """A frame, and where the service has found plates in it."""

    frame: Frame
    plates: tuple[Xyxy, ...]


@dataclass
class FrameTap:
    """Keeps the next answered frame on request, so that not every frame is kept."""

    is_wanted: bool = False
    answered_frame: AnsweredFrame | None = None

    def offer(self, frame: Frame, plates: Plates) -> None:
        """Keep a frame if one was requested."""
        if self.is_wanted:
            boxes = tuple(plate.xyxy for plate in plates)
            self.answered_frame, self.is_wanted = AnsweredFrame(frame, boxes), False

    def take(self) -> AnsweredFrame | None:
        """Return the frame that was kept, if there is one."""
        answered_frame, self.answered_frame = self.answered_frame, None
        return answered_frame


@dataclass
class CameraLoop:
    """Follows one camera.

    Attributes:
        receive: Takes the events of passes, in order.
        permit: Tells whether a frame may be used; None for always.
        notice: Takes which passes each answered frame has shown, before their events.
        storing: Counts the events that are stored; None if nobody stores them.
        is_ending: True if no more frames are wanted. Before Python 3.12, `asyncio.wait_for` may
            swallow the cancellation of the task.
        failure: The exception that has ended it as text; empty while it is followed.
    """

    camera: Camera
    stream: FrameStream
    tracker: PassTracker
    recognizer: FrameRecognizer
    receive: Receive
    permit: Permit | None = None
    notice: Notice = lambda _: None
    storing: Storing | None = None
    is_ending: bool = False
    failure: str = ""
    clock: Callable[[], float] = steady_s
    tap: FrameTap = field(default_factory=FrameTap)
    counts: Counts = field(default_factory=Counts)
    health: ServiceHealth = field(default_factory=ServiceHealth)
    unfinished_pictures: UnfinishedPictures = field(init=False)
    _last_moment: tuple[float, float] | None = None
    """Moment of the last frame, and its time by `clock`."""
    _is_closed: bool = False

    def __post_init__(self) -> None:
        self.unfinished_pictures = UnfinishedPictures(self.storing)

    async def run(self) -> None:
        """Follow the camera until its stream ends or the task is cancelled.

        Open passes are closed in either case, and by an exception, too.
        """
        try:
            while not self.is_ending and await self._advance_until_ready():
                await self._look()
        except Exception as error:
            self.failure = describe(error)
            raise
        finally:
            await finish(self.close())

    async def close(self) -> None:
        """Close the open passes and the stream. A second call changes nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._hand_on(self.tracker.close())
            if not self.permit:  # else the next owner of the camera needs them, if it has one
                await self.unfinished_pictures.drain()
        finally:
            await self.stream.close()

    async def _advance_until_ready(self) -> bool:
        """Wait for a frame; meanwhile close the passes of vehicles that have left."""
        task = asyncio.ensure_future(self.stream.wait_for_frame())
        try:
            while not (await asyncio.wait({task}, timeout=ADVANCE_EVERY_S))[0]:
                await self._advance()
            return task.result()
        finally:
            task.cancel()

    async def _advance(self) -> None:
        if self._last_moment is not None:
            moment_s, seen_s = self._last_moment
            await finish(self._hand_on(self.tracker.advance(moment_s + self.clock() - seen_s)))
        await finish(self.unfinished_pictures.finish(self.tracker.untold_ids))

    async def _look(self) -> None:
        """Send one frame to the service, and update the passes."""
        started_s = self.clock()
        async with self.recognizer.slot_of(self.health):
            frame = await self.stream.next()
            if frame is None or (self.permit and not await self.permit(frame)):
                return
            plates = await self._recognize(frame)
        while plates is None and self.health.failures:
            await self.recognizer.rest(self.health)
            if frame.clock != "file" and not frame.upload:  # of these, no frame is left out
                break
            async with self.recognizer.slot_of(self.health):
                plates = await self._recognize(frame)
        self.counts.seconds = self.clock() - started_s
        now_s = self.clock()
        # An uploaded picture may be late, but time goes on.
        self._last_moment = (now_s if frame.upload else frame.moment_s), now_s
        if frame.upload:
            upload = frame.upload
            if plates is None:
                self._note_put_aside(frame)
                upload = replace(upload, finish=upload.reject)
            await self._take_sent(frame, upload, plates or Plates())
        elif plates is not None:
            await self._take(frame, plates)

    async def _take_sent(self, frame: Frame, upload: Upload, plates: Plates) -> None:
        """Update the passes by a picture that was sent. Without plates, its reading counts."""
        async with self._putting_aside(frame):
            await self._take(frame, plates)
        self.unfinished_pictures.add(upload, self.tracker.visible_ids)
        await finish(self.unfinished_pictures.finish(self.tracker.untold_ids))

    async def _recognize(self, frame: Frame) -> Plates | None:
        async with self._putting_aside(frame):
            return await self.recognizer.recognize(self.camera, frame, self.health)

    @asynccontextmanager
    async def _putting_aside(self, frame: Frame) -> AsyncIterator[None]:
        """Put a picture that was sent aside if the `with` block ends by a fault of ours.

        Else the picture would come again, fail again, and hold up those behind it.
        """
        try:
            yield
        except PASSING_ERRORS:
            raise
        except Exception as error:
            if frame.upload:
                self.health.rejected_frames += 1
                self.health.last_error = describe(error)
                self._note_put_aside(frame)
                await finish(frame.upload.reject())
            raise

    def _note_put_aside(self, frame: Frame) -> None:
        LOG.warning("%s: a picture is put aside: %s", frame.camera, self.health.last_error)

    async def _take(self, frame: Frame, plates: Plates) -> None:
        """Update the passes by the plates of a frame."""
        self.counts.frames += 1
        self.counts.plates += len(plates)
        self.tap.offer(frame, plates)
        events = self.tracker.update(frame, plates)
        self.notice(Sighting(self.camera.name, (*self.tracker.visible_ids,), frame.steady_s))
        await finish(self._hand_on(events))

    async def _hand_on(self, events: Sequence[PassEvent]) -> None:
        """Hand on all events, also after a failure. The first failure is raised in the end."""
        failures: list[Exception] = []
        for event in events:
            if event.kind == "closed":
                self.counts.passes += 1
                self.counts.last_text = event.vehicle_pass.text or self.counts.last_text
            try:
                await self.receive(event)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


async def finish(coroutine: Awaitable[None]) -> None:
    """Run a coroutine to its end. A cancellation waits for it: it must lose no event."""
    task = asyncio.ensure_future(coroutine)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            is_cancelled = True
    task.result()
    if is_cancelled:
        raise asyncio.CancelledError
