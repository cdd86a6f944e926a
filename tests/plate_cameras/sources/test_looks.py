"""Looks at cameras: the slot in which the newest one waits, and their pictures."""

import io
import threading

import av
import cv2
import numpy as np
import pytest

from plate_cameras.sources.looks import Look, LookSlot, LumaConverter, encode_jpeg
from tests.plate_cameras.clips import encode, street

FRAME = av.VideoFrame(16, 16, "yuv420p")


def look(number: int) -> Look:
    return Look(FRAME, number, float(number), "wall")


def take_number(slot: LookSlot) -> int | None:
    look_ = slot.take()
    return look_.number if look_ else None


@pytest.fixture
def announcements() -> list[bool]:
    return []


@pytest.fixture
def slot(announcements: list[bool]) -> LookSlot:
    return LookSlot(lambda: announcements.append(True))


def test_the_newest_look_is_taken_and_the_older_due_ones_count_as_dropped(
    slot: LookSlot, announcements: list[bool]
) -> None:
    assert slot.take() is None
    for number in range(3):
        slot.offer(look(number), is_due=True)
    assert (take_number(slot), slot.dropped, len(announcements)) == (2, 2, 1)


def test_a_look_that_is_not_due_only_makes_a_waiting_one_newer(slot: LookSlot) -> None:
    slot.offer(look(1), is_due=False)
    assert slot.take() is None
    slot.offer(look(2), is_due=True)
    slot.offer(look(3), is_due=False)
    assert (take_number(slot), slot.dropped) == (3, 0)


def test_a_file_waits_until_its_look_is_taken(slot: LookSlot) -> None:
    has_beaten = threading.Event()
    slot.put(look(1), has_beaten.set)
    putter = threading.Thread(target=slot.put, args=(look(2), has_beaten.set))
    putter.start()
    assert has_beaten.wait(10)  # it waits, with a heartbeat
    first = take_number(slot)
    putter.join(10)
    assert (first, take_number(slot), slot.dropped) == (1, 2, 0)


def test_a_closed_slot_lets_nobody_wait(slot: LookSlot) -> None:
    slot.put(look(1), lambda: None)
    slot.close()
    slot.put(look(2), lambda: None)
    slot.drain(lambda: None)


@pytest.mark.parametrize("looks", [1, 2])
def test_a_file_ends_only_when_its_last_look_is_delivered(slot: LookSlot, looks: int) -> None:
    has_beaten = threading.Event()
    for number in range(looks):  # all are taken before the first one's delivery is confirmed
        slot.put(look(number), lambda: None)
        slot.take()
    for _ in range(looks - 1):
        slot.confirm()
    drainer = threading.Thread(target=slot.drain, args=(has_beaten.set,))
    drainer.start()
    assert has_beaten.wait(10)
    assert drainer.is_alive()
    slot.confirm()
    drainer.join(10)
    assert not drainer.is_alive()


def frame_of(bgr: np.ndarray, form: str = "yuv420p") -> av.VideoFrame:
    return av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format=form)


@pytest.mark.parametrize("form", ["yuv420p", "yuvj420p", "yuyv422", "nv12", "yuv420p10le"])
def test_a_frame_of_any_pixel_format_becomes_a_jpeg(form: str) -> None:
    (picture,) = street(1)
    jpeg, size_wh = encode_jpeg(frame_of(picture, form))
    decoded_picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert size_wh == (320, 180)
    assert cv2.PSNR(decoded_picture, picture) > 30


@pytest.mark.parametrize("size_wh", [(1920, 1080), (320, 180), (100, 300)])
def test_the_grey_picture_has_one_size(size_wh: tuple[int, int]) -> None:
    converter = LumaConverter()
    converter.convert(frame_of(street(1)[0]))  # of another size
    luma = converter.convert(frame_of(np.full((*size_wh[::-1], 3), 128, np.uint8)))
    assert luma.shape == (135, 240)
    assert np.ptp(luma) <= 1


@pytest.mark.parametrize("angle_deg", [90, -90, 180])
def test_a_clip_that_was_taken_sideways_becomes_upright(angle_deg: int) -> None:
    (picture,) = street(1)
    with av.open(io.BytesIO(encode([picture] * 3, rotation=angle_deg))) as container:
        frame = next(container.decode(video=0))
    jpeg, size_wh = encode_jpeg(frame)
    decoded_picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert size_wh == decoded_picture.shape[1::-1]
    assert cv2.PSNR(decoded_picture, np.ascontiguousarray(np.rot90(picture, angle_deg // 90))) > 25
