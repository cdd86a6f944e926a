"""Watches all cameras of a configuration, and follows changes of it while they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import ServerError
from plate_cameras.background_tasks import BackgroundTasks, describe
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.sources.status import SourceStatus
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.watching.camera_loop import CameraLoop, FrameStream, Notice, Permit, Receive
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from plate_cameras.watching.unfinished_pictures import Storing


class UnopenedStream:
    """Stands in for a stream, and raises the reason when a frame is wanted."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.status = SourceStatus(state="waiting", last_error=describe(error))

    async def wait_for_frame(self) -> bool:
        """Raise the reason."""
        raise self._error

    async def next(self) -> Frame | None:
        return None

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def configure(self, camera: Camera) -> None:
        """Do nothing: the camera is opened with its newest settings."""


LOG = logging.getLogger(__name__)
STREAM_SETTINGS = (
    "url",
    "verify_tls",
    "tls_ca_file",
    "looks_per_s",
    "motion_threshold",
    "schedule",
    "read_files",
)
"""Settings that need another stream; a camera whose other settings change keeps its stream."""


OpenStream = Callable[[Camera], FrameStream]
MakeTracker = Callable[[Camera], PassTracker]


@dataclass
class _CameraEntry:
    """One camera. Its loop and its tracker are new ones after each failure."""

    loop: CameraLoop
    tracker: PassTracker
    task: asyncio.Task[None] | None = None
    is_started: bool = False
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the first end of a loop."""
    error: Exception | None = None
    """The reason of that end, unless the stream has ended by itself."""


class Watcher:
    """Runs a loop for each camera. A loop that fails is started again, with a new stream.

    Args:
        tasks: The owner of the loops; one of its own if it is left out.

    Attributes:
        permit: Tells whether a frame may be used; None for always.
        notice: Takes which passes each answered frame has shown.
        storing: Counts the events that are stored; None if nobody stores them.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        make_tracker: MakeTracker,
        recognizer: FrameRecognizer,
        receive: Receive,
        *,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        self._open_stream = open_stream
        self._make_tracker = make_tracker
        self._recognizer = recognizer
        self._receive = receive
        self._tasks = tasks or BackgroundTasks()
        self.permit: Permit | None = None
        self.notice: Notice = lambda _: None
        self.storing: Storing | None = None
        self._changing = asyncio.Lock()
        self._entries: dict[str, _CameraEntry] = {}

    @property
    def loops(self) -> tuple[CameraLoop, ...]:
        """The loops of all cameras, in the order of the configuration."""
        return tuple(entry.loop for entry in [*self._entries.values()])  # other threads look, too

    async def follow(self, cameras: Sequence[Camera]) -> None:
        """Follow exactly these cameras; there may be none.

        A camera whose stream's settings stay the same keeps its stream and its open passes.

        Raises:
            Exception: One camera cannot be followed; the others are.
        """
        failure: Exception | None = None
        cameras_by_name = {camera.name: camera for camera in cameras}
        async with self._changing:
            await asyncio.gather(*(self._stop(name) for name in self._find_ending(cameras_by_name)))
            for camera in cameras:
                try:
                    await self._follow_one(camera)
                except Exception as error:
                    failure = error
            names = [name for name in cameras_by_name if name in self._entries]
            self._entries = {name: self._entries[name] for name in names}
        if failure:
            raise failure

    async def _follow_one(self, camera: Camera) -> None:
        """Start a camera, or give it other settings."""
        entry = self._entries.get(camera.name)
        if entry and not self._configure(entry, camera):
            await self._stop(camera.name)
        if camera.name not in self._entries:
            self._start(camera)

    def check(self, cameras: Sequence[Camera]) -> None:
        """Check that cameras can be followed with their settings. Nothing changes.

        Raises:
            SettingsError: A camera cannot be followed with its settings.
        """
        for camera in cameras:
            self._make_tracker(camera)

    def count_open(self, name: str) -> int:
        """Return the number of vehicles that a camera shows now."""
        return self._entries[name].tracker.open_passes if name in self._entries else 0

    async def finish(self) -> None:
        """Wait until every stream has ended by itself. An error of a camera is raised."""
        await asyncio.gather(*(_settle(entry) for entry in self._entries.values()))

    async def stop(self) -> None:
        """Stop all cameras and close their passes."""
        async with self._changing:
            await asyncio.gather(*(self._stop(name) for name in [*self._entries]))

    def _find_ending(self, cameras_by_name: Mapping[str, Camera]) -> list[str]:
        """Return the cameras whose streams end."""
        return [
            name
            for name, entry in self._entries.items()
            if name not in cameras_by_name
            or _needs_another_stream(entry.loop.camera, cameras_by_name[name])
        ]

    def _start(self, camera: Camera) -> None:
        loop, tracker = self._open(camera)
        entry = self._entries[camera.name] = _CameraEntry(loop, tracker)
        entry.task = self._tasks.start(_task_of(camera.name), lambda: self._run(entry), ends=True)

    def _open(self, camera: Camera) -> tuple[CameraLoop, PassTracker]:
        """Make the parts of a camera. One that cannot be opened fails when it is to be ready."""
        tracker = self._make_tracker(camera)  # first: a stream without a loop would stay open
        stream: FrameStream
        try:
            stream = self._open_stream(camera)
        except Exception as error:  # such as no descriptors; the camera's task tries again
            stream = UnopenedStream(error)
        loop = CameraLoop(
            camera,
            stream,
            tracker,
            self._recognizer,
            self._receive,
            self.permit,
            self.notice,
            self.storing,
        )
        return loop, tracker

    async def _run(self, entry: _CameraEntry) -> None:
        """Follow a camera once, from its second start on with a new stream and tracker."""
        if entry.is_started:
            counts, camera = entry.loop.counts, entry.loop.camera
            entry.loop, entry.tracker = self._open(camera)
            entry.loop.counts = counts
        entry.is_started = True
        loop = entry.loop
        try:
            await loop.run()
        except Exception as error:
            entry.error = entry.error if entry.is_settled.is_set() else error
            raise
        finally:
            entry.is_settled.set()
        if loop.camera.is_live and not loop.is_ending:
            loop.failure = "the stream has ended. It is opened again"
            raise ServerError(loop.failure)

    def _configure(self, entry: _CameraEntry, camera: Camera) -> bool:
        """Hand on other settings. Return false if the camera must be opened again for them."""
        if entry.loop.camera == camera:
            return True
        entry.loop.camera = camera
        try:
            entry.tracker.configure(camera)
            entry.loop.stream.configure(camera)
        except Exception:
            LOG.exception(
                "%s: its new settings are not taken over. It is opened again", camera.name
            )
            return False
        LOG.info("%s: new settings", camera.name)
        return True

    async def _stop(self, name: str) -> None:
        entry = self._entries.pop(name)
        entry.loop.is_ending = True
        await self._tasks.stop(_task_of(name))
        try:
            await entry.loop.close()  # its task may have been stopped before its first step
        except Exception as error:
            LOG.error("%s: its passes cannot be closed: %s", name, describe(error))


async def _settle(entry: _CameraEntry) -> None:
    await entry.is_settled.wait()
    if entry.error:
        raise entry.error


def _task_of(camera: str) -> str:
    return f"camera {camera}"


def _needs_another_stream(old: Camera, new: Camera) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in STREAM_SETTINGS)
