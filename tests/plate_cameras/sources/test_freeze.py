import numpy as np

from plate_cameras.sources.live import FreezeDetector


def luma(level: int) -> np.ndarray:
    return np.full((135, 240), level, np.uint8)


def test_a_picture_that_stays_the_same_is_frozen_after_a_while() -> None:
    freeze = FreezeDetector(10)
    assert not freeze.update(luma(1), 0.0)
    assert [freeze.update(luma(1), time_s) for time_s in (3, 6, 9)] == [True] * 3
    assert not freeze.is_frozen(9)
    freeze.update(luma(1), 12)
    assert freeze.is_frozen(12)


def test_two_key_frames_far_apart_are_not_enough() -> None:
    freeze = FreezeDetector(10)
    freeze.update(luma(1), 0.0)
    freeze.update(luma(1), 12.0)
    assert not freeze.is_frozen(12)


def test_any_change_ends_the_freeze() -> None:
    freeze = FreezeDetector(1)
    for time_s in range(6):
        freeze.update(luma(1), time_s)
    changed = luma(1)
    changed[0, 0] = 2
    assert not freeze.update(changed, 7.0)
    assert not freeze.is_frozen(7.0)
