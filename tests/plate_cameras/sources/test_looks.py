"""The slot of a camera: the newest look waits; older looks are dropped and counted."""

import threading

import av
import pytest

from plate_cameras.sources.looks import Look, LookSlot

FRAME = av.VideoFrame(16, 16, "yuv420p")


def look(number: int) -> Look:
    return Look(FRAME, number, float(number), "wall")


@pytest.fixture
def announced() -> list[bool]:
    return []


@pytest.fixture
def slot(announced: list[bool]) -> LookSlot:
    return LookSlot(lambda: announced.append(True))


def test_an_empty_slot_gives_nothing(slot: LookSlot) -> None:
    assert slot.take() is None


def test_the_newest_look_is_taken_and_the_older_due_ones_count_as_dropped(
    slot: LookSlot, announced: list[bool]
) -> None:
    for number in range(3):
        slot.offer(look(number), due=True)
    taken = slot.take()
    assert taken is not None
    assert (taken.number, slot.dropped, len(announced)) == (2, 2, 1)


def test_a_look_that_is_not_due_only_makes_a_waiting_one_newer(slot: LookSlot) -> None:
    slot.offer(look(1), due=False)
    assert slot.take() is None
    slot.offer(look(2), due=True)
    slot.offer(look(3), due=False)
    taken = slot.take()
    assert taken is not None
    assert (taken.number, slot.dropped) == (3, 0)


def test_a_file_waits_until_its_look_is_taken(slot: LookSlot) -> None:
    beaten = threading.Event()
    slot.put(look(1), beaten.set)
    putter = threading.Thread(target=slot.put, args=(look(2), beaten.set))
    putter.start()
    assert beaten.wait(10)  # it waits, with a heartbeat
    first = slot.take()
    putter.join(10)
    second = slot.take()
    assert first is not None
    assert second is not None
    assert (first.number, second.number, slot.dropped) == (1, 2, 0)


def test_a_closed_slot_lets_nobody_wait(slot: LookSlot) -> None:
    slot.put(look(1), lambda: None)
    slot.close()
    slot.put(look(2), lambda: None)
    slot.drain(lambda: None)


@pytest.mark.parametrize("looks", [1, 2])
def test_a_file_ends_only_when_its_last_look_is_delivered(slot: LookSlot, looks: int) -> None:
    beaten = threading.Event()
    for number in range(looks):  # all are taken before the first one's delivery is confirmed
        slot.put(look(number), lambda: None)
        slot.take()
    for _ in range(looks - 1):
        slot.confirm()
    drainer = threading.Thread(target=slot.drain, args=(beaten.set,))
    drainer.start()
    assert beaten.wait(10)
    assert drainer.is_alive()
    slot.confirm()
    drainer.join(10)
    assert not drainer.is_alive()
