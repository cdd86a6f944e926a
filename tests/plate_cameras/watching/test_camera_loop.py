import asyncio
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from unittest.mock import Mock

import pytest

from orchestrator.errors import (
    ErrorResponse,
    ModelError,
    Overloaded,
    PictureError,
    PlateError,
    RequestError,
    ServerError,
)
from orchestrator.host.retry import MIN_LARGE_BYTES
from orchestrator.plates import Plate, Plates
from plate_cameras.background_tasks import describe
from plate_cameras.configuration import Camera, Zone
from plate_cameras.frames import Frame, Sent
from plate_cameras.passes import PassEvent
from plate_cameras.tracking.zones import is_watched
from plate_cameras.watching import camera_loop
from plate_cameras.watching.camera_loop import CameraLoop
from plate_cameras.watching.frame_recognizer import FrameRecognizer, region_of
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.fakes import (
    RecordingTracker,
    ScriptedService,
    ScriptedStream,
    SteppedTime,
)

GATE = Camera("gate", "rtsp://camera")
FOUND = Plates((Plate((0, 0, 50, 10), text="A123BC77"),))


def make_loop(
    stream: ScriptedStream, service: ScriptedService, camera: Camera = GATE
) -> tuple[CameraLoop, list[PassEvent]]:
    received: list[PassEvent] = []

    async def receive(event: PassEvent) -> None:
        received.append(event)

    time = SteppedTime()
    recognizer = FrameRecognizer(service, at_once=1, sleep=time.sleep, clock=time)
    return CameraLoop(camera, stream, RecordingTracker(camera), recognizer, receive), received


def test_frames_become_events_and_the_stream_is_closed() -> None:
    stream = ScriptedStream([make_frame(number=0), make_frame(number=1)])
    loop, received = make_loop(stream, ScriptedService(FOUND))
    asyncio.run(loop.run())
    assert [event.kind for event in received] == ["agreed", "closed"]
    assert (loop.counts.frames, loop.counts.plates, loop.counts.passes) == (2, 2, 1)
    assert loop.counts.last_text == "A123BC77"
    assert stream.is_closed


@pytest.mark.parametrize("error", [ServerError("away"), Overloaded("full")])
def test_a_live_frame_is_dropped_while_the_service_is_away(error: PlateError) -> None:
    stream = ScriptedStream([make_frame(number=0), make_frame(number=1)])
    loop, _ = make_loop(stream, ScriptedService(error, FOUND))
    asyncio.run(loop.run())
    assert [frame.number for frame, _ in loop.tracker.updates] == [1]  # type: ignore[attr-defined]
    assert (loop.health.failures, loop.health.last_error) == (0, "")


def test_no_frame_of_a_file_is_dropped() -> None:
    frames = [Frame("gate", number, float(number), "file", b"", (10, 10)) for number in range(2)]
    service = ScriptedService(ServerError("away"), Overloaded("full"), FOUND)
    loop, _ = make_loop(ScriptedStream(frames), service)
    asyncio.run(loop.run())
    assert [frame.number for frame, _ in loop.tracker.updates] == [0, 1]  # type: ignore[attr-defined]


def test_a_frame_that_the_service_rejects_does_not_stop_the_camera() -> None:
    stream = ScriptedStream([make_frame(number=0), make_frame(number=1)])
    loop, _ = make_loop(stream, ScriptedService(PictureError("no picture"), FOUND))
    asyncio.run(loop.run())
    assert (loop.health.rejected_frames, loop.counts.frames) == (1, 1)


def lost(reason: OSError) -> ServerError:
    error = ServerError("the connection is lost")
    error.__cause__ = reason
    return error


SMALL, LARGE = b"x", b"x" * (MIN_LARGE_BYTES + 1)
RESET = lost(ConnectionResetError(104, "Connection reset by peer"))


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(
    ("error", "times"),
    [
        pytest.param(ModelError("no memory on the GPU"), 8, id="networks"),
        pytest.param(RESET, 8, id="lost"),
        pytest.param(lost(TimeoutError()), 99, id="late"),
        pytest.param(ServerError("loading", response=ErrorResponse(503)), 99, id="loading"),
        pytest.param(Overloaded("full"), 99, id="full"),
        *(
            pytest.param(RequestError("no", response=response), 99, id=f"{response}")
            for response in (
                ErrorResponse(401),
                ErrorResponse(404),
                ErrorResponse(None, "NOT_FOUND"),
            )
        ),
        *(
            pytest.param(ModelError("no", response=ErrorResponse(status)), 99, id=f"HTTP {status}")
            for status in (415, 421, 451)
        ),
    ],
)
def test_a_picture_that_was_sent_waits_until_the_service_can_read_it(
    error: PlateError, times: int, ready: bool
) -> None:
    service = ScriptedService(*[error] * (times if ready else 99), FOUND, ready=ready)
    loop, finished = make_loop_of_sent(service, LARGE)
    asyncio.run(loop.run())
    assert [plates for _, plates in loop.tracker.updates] == [FOUND]  # type: ignore[attr-defined]
    assert finished == ["a"]


def test_failures_before_the_service_was_away_say_nothing_about_the_picture() -> None:
    broken, away = ModelError("broken"), Overloaded("full")
    answers = [*[broken] * 8, away, *[broken] * 4, away, broken, FOUND]
    loop, finished = make_loop_of_sent(ScriptedService(*answers))
    asyncio.run(loop.run())
    assert finished == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ModelError("broken"), id="networks"),
        pytest.param(RESET, id="a proxy that closes"),
        pytest.param(
            ServerError("socket", response=ErrorResponse(None, "UNAVAILABLE")), id="over gRPC"
        ),
        pytest.param(PictureError("no picture"), id="no picture"),
        pytest.param(RequestError("size", response=ErrorResponse(413)), id="HTTP"),
        pytest.param(RequestError("size", response=ErrorResponse(None, "UNKNOWN")), id="proxy"),
        pytest.param(
            RequestError("size", response=ErrorResponse(None, "RESOURCE_EXHAUSTED")), id="gRPC"
        ),
    ],
)
def test_a_picture_that_can_never_be_read_is_put_aside(
    error: PlateError, caplog: pytest.LogCaptureFixture
) -> None:
    loop, finished = make_loop_of_sent(ScriptedService(error), LARGE)
    asyncio.run(loop.run())
    assert [len(plates) for _, plates in loop.tracker.updates] == [0]  # type: ignore[attr-defined]
    assert finished == ["rejected"]
    assert loop.health.rejected_frames == 1
    assert caplog.messages == [f"gate: a picture is put aside: {error}"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(ZeroDivisionError("no width"), "rejected", id="a fault of ours"),
        pytest.param(KeyError("box"), "rejected", id="another one"),
        pytest.param(ServerError("the writer has ended"), "", id="nobody takes events"),
        pytest.param(OSError(28, "No space left on device"), "", id="no room"),
        pytest.param(MemoryError(), "", id="no memory"),
    ],
)
@pytest.mark.parametrize(
    ("owner", "step"),
    [
        pytest.param(attrgetter("recognizer"), "recognize", id="recognize"),
        pytest.param(attrgetter("tracker"), "update", id="track"),
        pytest.param(lambda loop: loop, "receive", id="hand on"),
    ],
)
def test_a_picture_at_which_we_fail_is_put_aside_or_comes_again(
    error: Exception,
    outcome: str,
    owner: Callable[[CameraLoop], object],
    step: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, finished = make_loop_of_sent(ScriptedService(FOUND))
    monkeypatch.setattr(owner(loop), step, Mock(side_effect=error))
    with pytest.raises(type(error)):
        asyncio.run(loop.run())
    assert (finished, loop.health.rejected_frames) == ([outcome] * bool(outcome), bool(outcome))
    told = [f"gate: a picture is put aside: {describe(error)}"]
    assert caplog.messages == told * bool(outcome)


def make_loop_of_sent(
    service: ScriptedService, jpeg: bytes = SMALL
) -> tuple[CameraLoop, list[str]]:
    """Return a loop of one picture, and the names of those that were forgotten."""

    async def finish() -> None:
        finished.append("a")

    async def reject() -> None:
        finished.append("rejected")

    finished = list[str]()
    frame = replace(make_frame(number=0), jpeg=jpeg, sent=Sent(b"a", finish, reject))
    return make_loop(ScriptedStream([frame]), service)[0], finished


def test_pauses_grow_while_the_service_is_away() -> None:
    pauses: list[float] = []

    async def note(pause_s: float) -> None:
        pauses.append(pause_s)

    loop, _ = make_loop(
        ScriptedStream([make_frame(number=number) for number in range(8)]),
        ScriptedService(ServerError("away")),
    )
    loop.recognizer = FrameRecognizer(ScriptedService(ServerError("away")), 1, note)
    asyncio.run(loop.run())
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 10, 10]


async def test_without_frames_the_passes_go_on_by_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(camera_loop, "ADVANCE_EVERY_S", 0.001)
    stream = ScriptedStream([make_frame(time_s=100.0)], ends=False)
    loop, received = make_loop(stream, ScriptedService(FOUND))
    tracker = loop.tracker
    task = asyncio.create_task(loop.run())
    async with asyncio.timeout(10) if hasattr(asyncio, "timeout") else asyncio.Lock():
        while len(tracker.advances) < 2:  # type: ignore[attr-defined]
            await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait({task})
    first, second = tracker.advances[:2]  # type: ignore[attr-defined]
    assert 100 < first < second < 120
    assert [event.kind for event in received] == ["agreed", "closed"]
    assert stream.is_closed


async def test_cameras_take_the_slots_in_turns() -> None:
    recognizer = FrameRecognizer(ScriptedService(FOUND), at_once=1)
    order: list[str] = []

    async def take(name: str) -> None:
        for _ in range(2):
            async with recognizer.slots:
                order.append(name)
                await asyncio.sleep(0)

    await asyncio.gather(take("a"), take("b"))
    assert order == ["a", "b", "a", "b"]


def test_a_zone_that_fills_the_frame_is_all_of_it() -> None:
    frame = Zone("frame", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)))
    camera = Camera("gate", "", zones=(frame,), only_in_zones=True)
    assert region_of(camera, (1000, 500)) == (0, 0, 1000, 500)
    assert is_watched(camera, (0.0, 0.0))
    assert is_watched(camera, (0.999, 0.999))


def test_only_the_box_round_the_zones_is_searched() -> None:
    zones = (
        Zone("left", ((0.1, 0.5), (0.3, 0.5), (0.2, 0.9))),
        Zone("right", ((0.6, 0.2), (0.8, 0.4), (0.7, 0.6))),
    )
    inside = Camera("gate", "", zones=zones, only_in_zones=True)
    assert region_of(inside, (1000, 500)) == pytest.approx((100, 100, 800, 450))
    assert region_of(inside, (333, 333)) == (33, 66, 267, 300)  # of 33.3, 66.6, 266.4 and 299.7
    assert region_of(Camera("gate", "", zones=zones), (1000, 500)) is None
    assert region_of(Camera("gate", "", only_in_zones=True), (1000, 500)) is None
