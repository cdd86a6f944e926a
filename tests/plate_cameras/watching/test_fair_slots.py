"""Cameras whose calls fail, and others, which must not be delayed."""

import asyncio
from functools import cache

import pytest

from orchestrator.errors import Overloaded, ServerError
from orchestrator.plates import Plates
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.passes import PassEvent
from plate_cameras.watching.camera_loop import CameraLoop
from plate_cameras.watching.frame_recognizer import FrameRecognizer, ServiceHealth
from tests.plate_cameras.samples import make_event, make_frame
from tests.plate_cameras.watching.fakes import RecordingTracker, ScriptedStream, make_loop
from tests.virtual_time import run_virtually, virtually

ANSWER_S = 0.1
RUN_S = 40.0


class EndlessStream(ScriptedStream):
    """Always has a frame."""

    def __init__(self, camera: str, delay_s: float = 0.0) -> None:
        super().__init__()
        self.camera, self.delay_s = camera, delay_s

    async def wait_for_frame(self) -> bool:
        return True

    async def next(self) -> Frame | None:
        await asyncio.sleep(self.delay_s)
        frame = make_frame(self.camera)
        return Frame(self.camera, 0, 0.0, "wall", self.camera.encode(), frame.size_wh)


class PickyService:
    """A service that answers good cameras in 0.1 s, and fails for bad ones after a time."""

    def __init__(self, fails_after_s: float, error: Exception) -> None:
        self.fails_after_s, self.error = fails_after_s, error

    async def recognize(self, picture: bytes, *, roi: object = None) -> Plates:
        if picture.startswith(b"bad"):
            await asyncio.sleep(self.fails_after_s)
            raise self.error
        await asyncio.sleep(ANSWER_S)
        return Plates()


async def count_frames(names: list[str], service: PickyService, at_once: int) -> dict[str, int]:
    """Follow cameras for RUN_S; return the number of answers for each."""
    clock = asyncio.get_running_loop().time
    recognizer = FrameRecognizer(service, at_once, clock=clock)

    async def receive(_: object) -> None: ...

    loops = [
        CameraLoop(
            Camera(name, "rtsp://camera"),
            EndlessStream(name, delay_s=10.0 if name == "bad stream" else 0.0),
            RecordingTracker(Camera(name, "rtsp://camera")),
            recognizer,
            receive,
            clock=clock,
        )
        for name in names
    ]
    tasks = [asyncio.ensure_future(loop.run()) for loop in loops]
    await asyncio.sleep(RUN_S)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return {loop.camera.name: loop.counts.frames for loop in loops}


GOOD = [f"good {number}" for number in range(8)]


@cache
def count_alone(at_once: int) -> int:
    """Return the least number of answers for a good camera where no other is followed."""
    service = PickyService(0.0, ServerError("away"))
    return min(run_virtually(count_frames(GOOD, service, at_once)).values())


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("others", [["bad 1", "bad 2"], ["bad stream"]])
@pytest.mark.parametrize(
    "service",
    [
        pytest.param(PickyService(0.0, ServerError("away")), id="fails at once"),
        pytest.param(PickyService(0.15, Overloaded("full")), id="fails a little late"),
        pytest.param(PickyService(30.0, ServerError("no answer")), id="fails by timeouts"),
        pytest.param(PickyService(30.0, ValueError("a bug")), id="ends by another exception"),
    ],
)
def test_cameras_whose_calls_fail_or_that_give_no_frame_do_not_slow_the_others(
    service: PickyService, others: list[str], at_once: int
) -> None:
    beside = run_virtually(count_frames([*GOOD, *others], service, at_once))
    assert min(beside[name] for name in GOOD) >= 0.9 * count_alone(at_once)


AWAY = PickyService(0.0, ServerError("away"))


@virtually
async def test_a_camera_waits_after_a_failure_without_a_slot() -> None:
    pauses: list[tuple[float, bool]] = []

    async def note(pause_s: float) -> None:
        pauses.append((pause_s, loop.recognizer.slots.locked()))

    stream = ScriptedStream([Frame("bad", 0, 0.0, "wall", b"bad", (10, 10))])
    loop, _ = make_loop(stream, AWAY, sleep=note)
    await loop.run()
    assert pauses == [(0.25, False)]


@virtually
async def test_a_slot_that_was_given_back_is_not_given_back_again() -> None:
    recognizer = FrameRecognizer(AWAY, 1)
    async with recognizer.slot_of(ServiceHealth()):
        await asyncio.sleep(5)
        assert not recognizer.slots.locked()
    async with recognizer.slot_of(ServiceHealth()):
        assert recognizer.slots.locked()


@virtually
async def test_no_event_is_lost_when_a_camera_is_stopped_while_it_hands_on() -> None:
    events: list[str] = []
    is_handing = asyncio.Event()

    async def receive(event: PassEvent) -> None:
        is_handing.set()
        await asyncio.sleep(5)
        events.append(event.kind)

    loop, _ = make_loop(EndlessStream("gate"), AWAY, receive=receive)
    task = asyncio.ensure_future(loop.run())
    await is_handing.wait()
    task.cancel()
    await asyncio.wait({task})
    assert events == ["agreed", "closed"]


def test_an_event_that_cannot_be_handed_on_keeps_no_other_back() -> None:
    events: list[str] = []

    class TwoPasses(RecordingTracker):
        def close(self) -> list[PassEvent]:
            return [make_event("closed", id_="bad"), make_event("closed", id_="good")]

    async def receive(event: PassEvent) -> None:
        if event.vehicle_pass.id == "bad":
            raise OSError("no descriptors")
        events.append(event.vehicle_pass.id)

    stream = ScriptedStream()
    loop, _ = make_loop(stream, AWAY, receive=receive, tracker=TwoPasses)
    with pytest.raises(OSError, match="no descriptors"):
        run_virtually(loop.run())
    assert (events, stream.is_closed) == (["good"], True)
