import asyncio
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any
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
from plate_cameras.frames import Upload
from plate_cameras.watching import camera_loop
from plate_cameras.watching.camera_loop import CameraLoop
from plate_cameras.watching.frame_recognizer import FrameRecognizer, region_of
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.fakes import ScriptedService, ScriptedStream, make_loop

FOUND = Plates((Plate((0, 0, 50, 10), text="A123BC77"),))


def test_frames_become_events_and_the_stream_is_closed() -> None:
    stream = ScriptedStream([make_frame(number=0), make_frame(number=1)])
    loop, events = make_loop(stream, ScriptedService(FOUND))
    asyncio.run(loop.run())
    assert [event.kind for event in events] == ["agreed", "closed"]
    assert (loop.counts.frames, loop.counts.plates, loop.counts.passes) == (2, 2, 1)
    assert loop.counts.last_text == "A123BC77"
    assert stream.is_closed


@pytest.mark.parametrize(
    ("errors", "clock", "numbers", "rejected_frames"),
    [
        pytest.param([ServerError("away")], "wall", [1], 0, id="a live frame is dropped"),
        pytest.param([Overloaded("full")], "wall", [1], 0, id="also while it has no time"),
        pytest.param([PictureError("no picture")], "wall", [1], 1, id="one that it rejects"),
        pytest.param(
            [ServerError("away"), Overloaded("full")], "file", [0, 1], 0, id="no frame of a file"
        ),
    ],
)
def test_frames_while_the_service_is_away_or_rejects_them(
    errors: list[PlateError], clock: str, numbers: list[int], rejected_frames: int
) -> None:
    frames = [replace(make_frame(number=number), clock=clock) for number in range(2)]
    loop, _ = make_loop(ScriptedStream(frames), ScriptedService(*errors, FOUND))
    asyncio.run(loop.run())
    assert [frame.number for frame, _ in loop.tracker.updates] == numbers  # type: ignore[attr-defined]
    assert loop.health.rejected_frames == rejected_frames
    assert (loop.health.failures, loop.counts.frames) == (0, len(numbers))


def lose_connection(reason: OSError) -> ServerError:
    error = ServerError("the connection is lost")
    error.__cause__ = reason
    return error


SMALL, LARGE = b"x", b"x" * (MIN_LARGE_BYTES + 1)
RESET = lose_connection(ConnectionResetError(104, "Connection reset by peer"))


@pytest.mark.parametrize("is_available", [True, False])
@pytest.mark.parametrize(
    ("error", "times"),
    [
        pytest.param(ModelError("no memory on the GPU"), 8, id="networks"),
        pytest.param(RESET, 8, id="lost"),
        pytest.param(lose_connection(TimeoutError()), 99, id="late"),
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
    error: PlateError, times: int, is_available: bool
) -> None:
    errors = [error] * (times if is_available else 99)
    service = ScriptedService(*errors, FOUND, is_available=is_available)
    loop, outcomes = make_loop_of_sent(service, LARGE)
    asyncio.run(loop.run())
    assert [plates for _, plates in loop.tracker.updates] == [FOUND]  # type: ignore[attr-defined]
    assert outcomes == ["a"]


def test_failures_before_the_service_was_away_say_nothing_about_the_picture() -> None:
    error, away = ModelError("broken"), Overloaded("full")
    answers = [*[error] * 8, away, *[error] * 4, away, error, FOUND]
    loop, outcomes = make_loop_of_sent(ScriptedService(*answers))
    asyncio.run(loop.run())
    assert outcomes == ["a"]


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
    loop, outcomes = make_loop_of_sent(ScriptedService(error), LARGE)
    asyncio.run(loop.run())
    assert [len(plates) for _, plates in loop.tracker.updates] == [0]  # type: ignore[attr-defined]
    assert outcomes == ["rejected"]
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
    loop, outcomes = make_loop_of_sent(ScriptedService(FOUND))
    monkeypatch.setattr(owner(loop), step, Mock(side_effect=error))
    with pytest.raises(type(error)):
        asyncio.run(loop.run())
    assert (outcomes, loop.health.rejected_frames) == ([outcome] * bool(outcome), bool(outcome))
    messages = [f"gate: a picture is put aside: {describe(error)}"]
    assert caplog.messages == messages * bool(outcome)


def make_loop_of_sent(
    service: ScriptedService, jpeg: bytes = SMALL
) -> tuple[CameraLoop, list[str]]:
    """Return a loop of one picture, and the names of those that were forgotten."""

    async def finish() -> None:
        outcomes.append("a")

    async def reject() -> None:
        outcomes.append("rejected")

    outcomes = list[str]()
    frame = replace(make_frame(number=0), jpeg=jpeg, upload=Upload(b"a", finish, reject))
    return make_loop(ScriptedStream([frame]), service)[0], outcomes


def test_pauses_grow_while_the_service_is_away() -> None:
    pauses: list[float] = []

    async def note(pause_s: float) -> None:
        pauses.append(pause_s)

    stream = ScriptedStream([make_frame(number=number) for number in range(8)])
    loop, _ = make_loop(stream, ScriptedService(ServerError("away")), sleep=note)
    asyncio.run(loop.run())
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 10, 10]


async def test_without_frames_the_passes_go_on_by_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(camera_loop, "ADVANCE_EVERY_S", 0.001)
    stream = ScriptedStream([make_frame(time_s=100.0)], ends=False)
    loop, events = make_loop(stream, ScriptedService(FOUND))
    tracker = loop.tracker
    task = asyncio.create_task(loop.run())
    async with asyncio.timeout(10) if hasattr(asyncio, "timeout") else asyncio.Lock():
        while len(tracker.advances) < 2:  # type: ignore[attr-defined]
            await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait({task})
    first, second = tracker.advances[:2]  # type: ignore[attr-defined]
    assert 100 < first < second < 120
    assert [event.kind for event in events] == ["agreed", "closed"]
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


TRIANGLES = (
    Zone("left", ((0.1, 0.5), (0.3, 0.5), (0.2, 0.9))),
    Zone("right", ((0.6, 0.2), (0.8, 0.4), (0.7, 0.6))),
)
WHOLE = (Zone("frame", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))),)


@pytest.mark.parametrize(
    ("settings", "size_wh", "box"),
    [
        ({"zones": TRIANGLES, "only_in_zones": True}, (1000, 500), (100, 100, 800, 450)),
        ({"zones": TRIANGLES, "only_in_zones": True}, (333, 333), (33, 66, 267, 300)),
        ({"zones": WHOLE, "only_in_zones": True}, (1000, 500), (0, 0, 1000, 500)),
        ({"zones": TRIANGLES}, (1000, 500), None),
        ({"only_in_zones": True}, (1000, 500), None),
    ],
)
def test_only_the_box_round_the_zones_is_searched(
    settings: dict[str, Any], size_wh: tuple[int, int], box: tuple[float, ...] | None
) -> None:
    region = region_of(Camera("gate", "", **settings), size_wh)
    assert region == (box and pytest.approx(box))
