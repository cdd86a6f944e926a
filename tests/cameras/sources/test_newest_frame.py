import threading
from typing import Any

import pytest

from orchestrator.cameras.sources.newest_frame import NewestFrame, OfferedFrame


def offered(number: int) -> OfferedFrame:
    decoded: Any = None
    return OfferedFrame(number, decoded, "wall")


@pytest.fixture
def calls() -> list[None]:
    return []


@pytest.fixture
def newest(calls: list[None]) -> NewestFrame:
    return NewestFrame(lambda: calls.append(None))


def test_only_the_newest_frame_is_kept(newest: NewestFrame, calls: list[None]) -> None:
    for number in range(3):
        newest.replace(offered(number))
    assert newest.take() == offered(2)
    assert newest.take() is None
    assert (newest.dropped, len(calls)) == (2, 1)


def test_each_frame_that_was_taken_is_followed_by_a_new_call(
    newest: NewestFrame, calls: list[None]
) -> None:
    newest.replace(offered(0))
    newest.take()
    newest.replace(offered(1))
    assert (newest.dropped, len(calls)) == (0, 2)


def test_a_file_waits_until_its_frame_is_taken(newest: NewestFrame) -> None:
    newest.put(offered(0))
    putting = threading.Thread(target=newest.put, args=(offered(1),))
    putting.start()
    assert newest.take() == offered(0)
    putting.join(10)
    assert newest.take() == offered(1)
    assert newest.dropped == 0


def test_a_closed_one_does_not_keep_its_source_waiting(newest: NewestFrame) -> None:
    newest.put(offered(0))
    putting = threading.Thread(target=newest.put, args=(offered(1),))
    putting.start()
    newest.close()
    putting.join(10)
    assert not putting.is_alive()
