import asyncio
import errno
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from orchestrator.errors import SettingsError
from orchestrator.plates import Plates
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import Camera, Zone
from plate_cameras.frames import Frame
from plate_cameras.passes import PassEvent
from plate_cameras.sources.status import SourceStatus
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from plate_cameras.watching.status import CameraStatus
from plate_cameras.watching.watcher import Watcher
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.fakes import (
    RecordingTracker,
    ScriptedService,
    ScriptedStream,
    no_sleep,
)

GATE, YARD = Camera("gate", "rtsp://gate"), Camera("yard", "rtsp://yard")


class Site:
    """A watcher of scripted cameras, and its results."""

    def __init__(self, *, ends: bool) -> None:
        self.opened: list[tuple[str, ScriptedStream]] = []
        self.received: list[PassEvent] = []
        self.ends = ends
        recognizer = FrameRecognizer(ScriptedService(Plates()), at_once=2)
        self.watcher = Watcher(self.open, RecordingTracker, recognizer, self.receive)

    def open(self, camera: Camera) -> ScriptedStream:
        stream = ScriptedStream([make_frame(camera.name)], ends=self.ends)
        self.opened.append((camera.name, stream))
        return stream

    async def receive(self, event: PassEvent) -> None:
        self.received.append(event)

    def follow(self, act: Callable[[Watcher], Awaitable[None]]) -> None:
        async def run() -> None:
            await self.watcher.follow((GATE, YARD))
            while not all(loop.counts.frames for loop in self.watcher.loops):
                await asyncio.sleep(0)
            await act(self.watcher)

        asyncio.run(asyncio.wait_for(run(), 10))


def test_every_camera_is_followed_to_its_end() -> None:
    site = Site(ends=True)
    site.follow(lambda watcher: watcher.finish())
    assert sorted(event.passed.camera for event in site.received) == [
        "gate",
        "gate",
        "yard",
        "yard",
    ]
    assert all(stream.is_closed for _, stream in site.opened)


def test_a_removed_camera_stops_and_its_passes_are_closed() -> None:
    site = Site(ends=False)

    async def remove(watcher: Watcher) -> None:
        await watcher.follow((YARD,))
        assert [event.kind for event in site.received if event.passed.camera == "gate"] == [
            "agreed",
            "closed",
        ]
        assert [stream.is_closed for _, stream in site.opened] == [True, False]
        await watcher.stop()

    site.follow(remove)


def test_other_settings_leave_the_stream_alone() -> None:
    site = Site(ends=False)

    async def change(watcher: Watcher) -> None:
        stricter = replace(GATE, agreement_threshold=0.99)
        await watcher.follow((stricter, YARD))
        loop = watcher.loops[0]
        assert loop.camera == loop.tracker.camera == stricter  # type: ignore[attr-defined]
        await watcher.stop()

    site.follow(change)
    assert [name for name, _ in site.opened] == ["gate", "yard"]


class BrokenTracker(RecordingTracker):
    """A tracker that fails at the frame with number 13."""

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        events = super().update(frame, plates)
        if frame.number == 13:
            raise KeyError("a box that is gone")
        return events


class RestartedSite:
    """One camera whose streams follow a script, and whose task is started again at once."""

    def __init__(self, *streams: ScriptedStream | Exception, camera: Camera = GATE) -> None:
        self.streams, self.opened = [*streams], list[ScriptedStream]()
        self.received: list[PassEvent] = []
        self.camera = camera
        self.tasks = BackgroundTasks(sleep=no_sleep)
        recognizer = FrameRecognizer(ScriptedService(Plates()), at_once=1)
        self.watcher = Watcher(self.open, BrokenTracker, recognizer, self.receive, tasks=self.tasks)

    def open(self, camera: Camera) -> ScriptedStream:
        stream = self.streams.pop(0)
        if isinstance(stream, Exception):
            raise stream
        self.opened.append(stream)
        return stream

    async def receive(self, event: PassEvent) -> None:
        self.received.append(event)

    def follow_until(self, is_reached: Callable[[], bool]) -> None:
        async def run() -> None:
            await self.watcher.follow((self.camera,))
            while not is_reached():
                await asyncio.sleep(0)
            self.statuses = self.tasks.statuses
            self.camera_status = CameraStatus.of(self.watcher.loops[0])
            await self.watcher.stop()

        asyncio.run(asyncio.wait_for(run(), 10))


def test_a_camera_that_fails_is_followed_again_with_a_new_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, good = make_stream(make_frame(number=13)), make_stream(make_frame(number=14))
    site = RestartedSite(bad, good)
    site.follow_until(lambda: len(site.opened) == 2 and not good.frames)
    assert [event.kind for event in site.received[:1]] == ["closed"]
    assert (bad.is_closed, good.is_closed) == (True, True)
    assert [(status.name, status.failures) for status in site.statuses] == [("camera gate", 1)]
    assert "KeyError" in caplog.text


def test_a_file_at_its_end_has_ended_and_is_up() -> None:
    stream = make_stream(make_frame(), ends=True)
    stream.status = replace(stream.status, state="ended")
    site = RestartedSite(stream, camera=Camera("gate", "clip.mp4"))
    site.follow_until(lambda: site.tasks.statuses[0].has_ended)
    assert (site.statuses[0].has_ended, site.camera_status.is_up) == (True, True)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        RuntimeError("can't start new thread"),
        PermissionError(errno.EACCES, "Permission denied"),
        SettingsError("it cannot be played"),
    ],
    ids=repr,
)
def test_a_camera_that_cannot_be_opened_is_tried_again(error: Exception) -> None:
    site = RestartedSite(error, error, make_stream(make_frame()))
    site.follow_until(lambda: len(site.opened) == 1 and not site.opened[0].frames)
    assert site.statuses[0].failures == 2


def test_a_camera_that_failed_is_not_up_and_tells_why() -> None:
    site = RestartedSite(OSError("no descriptors"))
    site.follow_until(lambda: bool(site.watcher.loops[0].failure))
    assert (site.camera_status.state, site.camera_status.is_up) == ("failed", False)
    assert site.camera_status.error == "OSError: no descriptors"


async def test_settings_that_a_stream_does_not_take_open_the_camera_again() -> None:
    first, second = make_stream(make_frame()), make_stream(make_frame())
    site = RestartedSite(first, second)
    first.configure = fail  # type: ignore[method-assign]
    drawn = replace(GATE, zones=(Zone("entry", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),))
    await site.watcher.follow((GATE,))
    await site.watcher.follow((drawn,))
    assert (first.is_closed, site.opened) == (True, [first, second])
    await site.watcher.stop()


async def test_a_stream_is_closed_although_its_task_never_ran() -> None:
    stream = make_stream(make_frame())
    site = RestartedSite(stream)
    await site.watcher.follow((GATE,))
    await site.watcher.stop()
    assert stream.is_closed


def make_stream(*frames: Frame, ends: bool = False) -> ScriptedStream:
    stream = ScriptedStream(frames, ends=ends)
    stream.status = SourceStatus(state="playing")
    return stream


def fail(_: object) -> None:
    raise RuntimeError("no pipe")
