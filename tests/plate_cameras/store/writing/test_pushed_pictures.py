"""Pictures that cameras have sent, in both databases."""

from __future__ import annotations

from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.pushed_pictures import MAX_TAKEN, PushedPicture
from tests.plate_cameras.store.stored_events import DAY_S, NOW_S


def pushed(number: int, camera: str = "gate") -> PushedPicture:
    digest = bytes([number]) * 32
    return PushedPicture(camera, digest, b"a picture", "A123BC77", 0.9, 1e9 + number, "stream")


def test_pictures_wait_in_their_order_until_they_are_finished(store: PassStore) -> None:
    queue = store.pushed
    assert [queue.put(pushed(number)) for number in (3, 1, 2, 1, 4, 5)] == [
        True, True, True, False, True, True,
    ]  # fmt: skip
    assert queue.put(pushed(1, "yard"))
    assert queue.cameras() == {"gate", "yard"}
    assert queue.waiting("gate") == [pushed(number) for number in (3, 1, 2, 4)][:MAX_TAKEN]

    queue.finish("gate", pushed(3).digest)
    assert queue.waiting("gate")[0] == pushed(1)
    assert not queue.put(pushed(3))
    queue.finish("yard", pushed(1).digest)
    assert queue.cameras() == {"gate"}


def test_pictures_wait_as_long_as_passes_are_kept_and_digests_a_day(store: PassStore) -> None:
    queue = store.pushed
    for number in (1, 2):
        queue.put(pushed(number))
    queue.finish("gate", pushed(1).digest)
    store.delete_expired(NOW_S + 2 * DAY_S)
    assert queue.waiting("gate") == [pushed(2)]
    assert [queue.put(pushed(number)) for number in (1, 2)] == [True, False]
    store.delete_expired(NOW_S + 31 * DAY_S)
    assert queue.waiting("gate") == []
