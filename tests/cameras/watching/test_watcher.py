import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from orchestrator.cameras.configuration import Camera, Configuration, Zone
from orchestrator.cameras.passes import PassEvent
from orchestrator.cameras.watching.frame_recognizer import FrameRecognizer
from orchestrator.cameras.watching.watcher import Watcher
from orchestrator.plates import Plates
from tests.cameras.samples import make_frame
from tests.cameras.watching.fakes import RecordingTracker, ScriptedService, ScriptedStream

GATE, YARD = Camera("gate", "rtsp://gate"), Camera("yard", "rtsp://yard")


class Site:
    """A watcher of scripted cameras, and what it did."""

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
            await self.watcher.apply(Configuration((GATE, YARD)))
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
        await watcher.apply(Configuration((YARD,)))
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
        await watcher.apply(Configuration((stricter, YARD)))
        loop = watcher.loops[0]
        assert loop.camera == loop.tracker.camera == stricter  # type: ignore[attr-defined]
        await watcher.stop()

    site.follow(change)
    assert [name for name, _ in site.opened] == ["gate", "yard"]


def test_another_address_opens_another_stream() -> None:
    site = Site(ends=False)

    async def change(watcher: Watcher) -> None:
        await watcher.apply(Configuration((YARD, replace(GATE, url="rtsp://other"))))
        assert [loop.camera.name for loop in watcher.loops] == ["yard", "gate"]
        await watcher.stop()

    site.follow(change)
    assert [name for name, _ in site.opened] == ["gate", "yard", "gate"]


def test_other_zones_leave_the_stream_open() -> None:
    site = Site(ends=False)
    drawn = replace(GATE, zones=(Zone("entry", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),))

    async def change(watcher: Watcher) -> None:
        await watcher.apply(Configuration((drawn, YARD)))
        await watcher.stop()

    site.follow(change)
    assert [name for name, _ in site.opened] == ["gate", "yard"]
    assert [stream.configured for _, stream in site.opened] == [[drawn], []]
