"""Times of a file's frames, whatever its time stamps are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plate_cameras.sources.clip import ClipTimes


def times(
    pts_s: Sequence[float | None],
    *,
    rate: float | None = 25.0,
    start_s: float | None = 0.0,
    may_jump: bool = True,
) -> list[float]:
    clip = ClipTimes(rate, start_s, may_jump=may_jump)
    return [clip.time_of(one) for one in pts_s]


def approx(values: Sequence[float]) -> object:
    return pytest.approx(values, abs=1e-6)


def test_time_stamps_count_from_the_start_of_the_file() -> None:
    assert times([1.4, 1.44, 1.5], start_s=1.4) == approx([0, 0.04, 0.1])


def test_a_file_may_begin_before_its_first_frame() -> None:
    assert times([2.0, 2.04], start_s=1.4) == approx([0.6, 0.64])


@pytest.mark.parametrize("start_s", [None, 3.0, -1000.0])
def test_a_start_that_cannot_be_is_that_of_the_first_frame(start_s: float | None) -> None:
    assert times([2.0, 2.04], start_s=start_s) == approx([0, 0.04])


def test_frames_without_time_stamps_are_as_far_apart_as_the_file_states() -> None:
    assert times([None] * 4, rate=10) == approx([0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("rate", [None, 0.0, -5.0, 90_000.0])
def test_without_a_rate_that_can_be_25_frames_make_a_second(rate: float | None) -> None:
    assert times([None, None], rate=rate) == approx([0, 0.04])


def test_the_greatest_rate_is_believed() -> None:
    assert times([None, None], rate=1000) == approx([0, 0.001])


def test_missing_time_stamps_are_filled_in() -> None:
    assert times([0, None, None, 0.12, 0.16]) == approx([0, 0.04, 0.08, 0.12, 0.16])


def test_after_assumed_times_the_time_stamps_count_again() -> None:
    assert times([0, None, None, 0.06, 0.2], rate=25) == approx([0, 0.04, 0.08, 0.081, 0.2])


def test_the_first_time_stamp_may_come_late() -> None:
    assert times([None, None, 70.0, 70.04], start_s=None) == approx([0, 0.04, 0.08, 0.12])


def test_time_stamps_that_stand_still_count_as_missing() -> None:
    assert times([5.0] * 4, start_s=5.0) == approx([0, 0.04, 0.08, 0.12])


@pytest.mark.parametrize("jump_s", [-95443.7, -1.1, 10.1, 3600.0])
def test_after_a_jump_of_joined_recordings_the_times_go_on(jump_s: float) -> None:
    joined = [0, 0.04, 0.08 + jump_s, 0.12 + jump_s]
    assert times(joined) == approx([0, 0.04, 0.08, 0.12])


def test_a_gap_in_a_file_that_has_no_jumps_is_a_gap() -> None:
    assert times([0, 0.04, 300], may_jump=False) == approx([0, 0.04, 300])
    assert times([0, 0.04, 9], may_jump=True) == approx([0, 0.04, 9])


def test_frames_may_be_unevenly_far_apart() -> None:
    assert times([0, 0.01, 0.5, 3.0]) == approx([0, 0.01, 0.5, 3.0])


PTS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.04, 0.08, 95443.7]))


@given(st.lists(PTS, max_size=40), st.one_of(st.none(), st.floats(-1e6, 1e6)), st.booleans())
def test_times_always_grow(
    pts_s: list[float | None], start_s: float | None, may_jump: bool
) -> None:
    given_times = times(pts_s, start_s=start_s, may_jump=may_jump)
    assert all(later > earlier for earlier, later in pairwise(given_times))
    assert all(time_s >= 0 for time_s in given_times)
