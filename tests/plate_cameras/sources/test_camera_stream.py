"""The frames of one camera, with messages of a decoder that the test writes."""

import asyncio

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.sources import camera_stream
from plate_cameras.sources.camera_stream import CameraStream
from plate_cameras.sources.messages import Message, Picture, Ready, Want
from plate_cameras.sources.status import Limits


def picture(number: int) -> Picture:
    return Picture(7, number, number / 5, "file", (320, 180), b"\xff\xd8")


@pytest.mark.parametrize("is_late", [False, True], ids=["cancelled", "late"])
async def test_a_taker_that_gave_up_leaves_one_question_and_its_answer(
    is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two questions are answered by two threads of a decoder, whose answers may overtake."""
    sent: list[Message] = []
    stream = CameraStream(7, Camera("gate", "clip.mp4"), Limits())
    stream.send = sent.append
    stream.receive(Ready(7))
    if is_late:
        monkeypatch.setattr(camera_stream, "ANSWER_S", 1e-3)
        assert await stream.next() is None
        monkeypatch.undo()
    else:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.next(), 1e-3)
    stream.receive(Ready(7))  # of the look after it
    taker = asyncio.create_task(stream.next())
    await asyncio.sleep(0)
    assert sent == [Want(7)]
    stream.receive(picture(1))
    frame = await taker
    assert frame is not None
    assert frame.number == 1
    assert await stream.wait_for_frame()
    taker = asyncio.create_task(stream.next())
    await asyncio.sleep(0)
    assert sent == [Want(7), Want(7)]
    stream.receive(picture(2))
    frame = await taker
    assert frame is not None
    assert frame.number == 2
