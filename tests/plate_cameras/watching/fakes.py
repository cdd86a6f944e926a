"""A stream, a tracker, a service and a store that follow a script."""

import asyncio
from collections.abc import Sequence
from typing import Any

from orchestrator.errors import PlateError
from orchestrator.plates import Plates
from plate_cameras.configuration import Camera, Sink
from plate_cameras.frames import Frame
from plate_cameras.passes import PassEvent
from plate_cameras.sources.status import SourceStatus
from plate_cameras.watching.camera_loop import CameraLoop, Receive
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from tests.plate_cameras.samples import make_event


class ScriptedStream:
    """A stream that gives frames one by one; without `ends` it then waits for ever."""

    status = SourceStatus()

    def __init__(self, frames: Sequence[Frame] = (), *, ends: bool = True) -> None:
        self.frames = [*frames]
        self.ends = ends
        self.is_closed = False
        self.settings: list[Camera] = []

    async def wait_for_frame(self) -> bool:
        if not self.frames and not self.ends:
            await asyncio.Event().wait()
        return bool(self.frames)

    async def next(self) -> Frame | None:
        return self.frames.pop(0) if self.frames else None

    async def close(self) -> None:
        self.is_closed = True

    def configure(self, camera: Camera) -> None:
        self.settings.append(camera)


class RecordingTracker:
    """A tracker that confirms a pass at the first frame, and closes it at the end."""

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        self.updates: list[tuple[Frame, Plates]] = []
        self.advances: list[float] = []

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        self.updates.append((frame, plates))
        return [make_event("agreed", camera=self.camera.name)] if len(self.updates) == 1 else []

    def advance(self, time_s: float) -> list[PassEvent]:
        self.advances.append(time_s)
        return []

    def close(self) -> list[PassEvent]:
        return [make_event("closed", camera=self.camera.name)] if self.updates else []

    @property
    def open_passes(self) -> int:
        return bool(self.updates)

    @property
    def visible_ids(self) -> tuple[str, ...]:
        return ("pass-1",) if self.updates else ()

    @property
    def untold_ids(self) -> frozenset[str]:
        return frozenset()

    def configure(self, camera: Camera) -> None:
        self.camera = camera


class ScriptedService:
    """Answers with plates or errors in turn; the last one is repeated."""

    def __init__(self, *answers: Plates | PlateError, is_available: bool = True) -> None:
        self.answers, self.is_available = [*answers], is_available
        self.requests: list[tuple[bytes, object]] = []

    async def recognize(self, picture: bytes, *, roi: object = None) -> Plates:
        self.requests.append((picture, roi))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, PlateError):
            raise answer
        return answer

    async def is_ready(self) -> bool:
        return self.is_available


class ListStore:
    """Keeps events in a list, after a number of failures."""

    def __init__(self, failures: Sequence[Exception] = ()) -> None:
        self.failures = [*failures]
        self.events: list[PassEvent] = []
        self.sizes: list[int] = []

    def write(self, events: Sequence[PassEvent], sinks: Sequence[Sink]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.events += events
        self.sizes.append(len(events))


class SteppedTime:
    """A clock that only a sleep moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s
        await asyncio.sleep(0)


async def no_sleep(_: float) -> None:
    await asyncio.sleep(0)


GATE = Camera("gate", "rtsp://camera")


def make_loop(
    stream: ScriptedStream,
    service: Any,
    camera: Camera = GATE,
    *,
    receive: Receive | None = None,
    tracker: type[RecordingTracker] = RecordingTracker,
    **recognizer: Any,
) -> tuple[CameraLoop, list[PassEvent]]:
    """Return the loop of a camera with one slot, and the events that it hands on."""
    events: list[PassEvent] = []

    async def keep(event: PassEvent) -> None:
        events.append(event)

    time = SteppedTime()
    slots = FrameRecognizer(service, 1, **{"sleep": time.sleep, "clock": time, **recognizer})
    return CameraLoop(camera, stream, tracker(camera), slots, receive or keep), events
