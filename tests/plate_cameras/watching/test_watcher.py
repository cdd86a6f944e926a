"""The watcher of scripted cameras, whose tasks are started again at once."""

import asyncio
import errno
from collections.abc import Callable
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
CLIP = Camera("gate", "clip.mp4")


class BrokenTracker(RecordingTracker):
    """A tracker that fails at the frame with number 13."""

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        events = super().update(frame, plates)
        if frame.number == 13:
            raise KeyError("a box that is gone")
        return events


def make_stream(camera: str = "gate", number: int = 0, *, ends: bool = False) -> ScriptedStream:
    stream = ScriptedStream([make_frame(camera, number)], ends=ends)
    stream.status = SourceStatus(state="ended" if ends else "playing")
    return stream


class ScriptedWatcher:
    """A watcher whose streams follow a script, and its results."""

    def __init__(self, *streams: ScriptedStream | Exception) -> None:
        self.streams, self.open_streams = [*streams], list[ScriptedStream]()
        self.events: list[PassEvent] = []
        self.tasks = BackgroundTasks(sleep=no_sleep)
        recognizer = FrameRecognizer(ScriptedService(Plates()), at_once=2)
        self.watcher = Watcher(self.open, BrokenTracker, recognizer, self.receive, tasks=self.tasks)

    def open(self, _: Camera) -> ScriptedStream:
        stream = self.streams.pop(0)
        if isinstance(stream, Exception):
            raise stream
        self.open_streams.append(stream)
        return stream

    async def receive(self, event: PassEvent) -> None:
        self.events.append(event)

    def kinds(self, camera: str) -> list[str]:
        return [event.kind for event in self.events if event.vehicle_pass.camera == camera]

    async def follow_until(self, is_reached: Callable[[], object], *cameras: Camera) -> None:
        async def run() -> None:
            await self.watcher.follow(cameras or (GATE,))
            while not is_reached():
                await asyncio.sleep(0)

        await asyncio.wait_for(run(), 10)

    @property
    def frames(self) -> int:
        """The least number of answered frames of a camera."""
        return min(loop.counts.frames for loop in self.watcher.loops)


async def test_every_camera_is_followed_to_its_end() -> None:
    site = ScriptedWatcher(make_stream(ends=True), make_stream("yard", ends=True))
    yard = replace(CLIP, name="yard")
    await site.follow_until(lambda: site.frames, CLIP, yard)
    await site.watcher.finish()
    assert site.kinds("gate") == site.kinds("yard") == ["agreed", "closed"]
    assert all(stream.is_closed for stream in site.open_streams)
    assert {status.has_ended for status in site.tasks.statuses} == {True}
    assert CameraStatus.of(site.watcher.loops[0]).is_up


async def test_other_settings_leave_the_stream_alone_and_a_removed_camera_is_closed() -> None:
    site = ScriptedWatcher(make_stream(), make_stream("yard"))
    await site.follow_until(lambda: site.frames, GATE, YARD)
    stricter = replace(YARD, agreement_threshold=0.99)
    await site.watcher.follow((GATE, stricter))
    loop = site.watcher.loops[1]
    assert loop.camera == loop.tracker.camera == stricter  # type: ignore[attr-defined]
    await site.watcher.follow((stricter,))
    assert site.kinds("gate") == ["agreed", "closed"]
    assert [stream.is_closed for stream in site.open_streams] == [True, False]
    await site.watcher.stop()


@pytest.mark.parametrize(
    ("bad", "kinds", "error"),
    [
        pytest.param(make_stream(number=13), ["closed"], "KeyError", id="it fails"),
        pytest.param(
            make_stream(ends=True), ["agreed", "closed"], "the stream has ended", id="it ends"
        ),
    ],
)
async def test_a_camera_whose_stream_fails_or_ends_is_followed_again_with_a_new_one(
    bad: ScriptedStream, kinds: list[str], error: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = make_stream(number=14)
    site = ScriptedWatcher(bad, good)
    await site.follow_until(lambda: len(site.open_streams) == 2 and not good.frames)
    (status,) = site.tasks.statuses
    assert (status.name, status.failures) == ("camera gate", 1)
    await site.watcher.stop()
    assert site.kinds("gate")[: len(kinds)] == kinds
    assert (bad.is_closed, good.is_closed) == (True, True)
    assert error in status.last_error + caplog.text


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
async def test_a_camera_that_cannot_be_opened_is_not_up_tells_why_and_is_tried_again(
    error: Exception,
) -> None:
    site = ScriptedWatcher(error, error, make_stream())
    await site.follow_until(lambda: site.watcher.loops[0].failure)
    status = CameraStatus.of(site.watcher.loops[0])
    assert (status.state, status.is_up) == ("failed", False)
    assert str(error) in status.error
    await site.follow_until(lambda: len(site.open_streams) == 1 and not site.open_streams[0].frames)
    assert site.tasks.statuses[0].failures == 2
    await site.watcher.stop()


async def test_a_camera_that_cannot_be_followed_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make_tracker(tracker: RecordingTracker, camera: Camera) -> None:
        RecordingTracker.__init__(tracker, camera)
        if camera.name == "gate":
            raise KeyError("a fault")

    monkeypatch.setattr(BrokenTracker, "__init__", make_tracker)
    site = ScriptedWatcher(make_stream(), make_stream("yard"), make_stream())
    with pytest.raises(KeyError, match="a fault"):
        await site.watcher.follow([GATE, YARD])
    assert [loop.camera for loop in site.watcher.loops] == [YARD]
    monkeypatch.undo()
    await site.watcher.follow([GATE, YARD])
    assert [loop.camera for loop in site.watcher.loops] == [GATE, YARD]
    await site.watcher.stop()


async def test_settings_that_a_stream_does_not_take_open_the_camera_again() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("no pipe")

    first, second = make_stream(), make_stream()
    site = ScriptedWatcher(first, second)
    first.configure = fail  # type: ignore[method-assign]
    camera_with_zone = replace(GATE, zones=(Zone("entry", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),))
    await site.watcher.follow((GATE,))
    await site.watcher.follow((camera_with_zone,))
    assert (first.is_closed, site.open_streams) == (True, [first, second])
    await site.watcher.stop()
    assert second.is_closed  # although its task never ran
