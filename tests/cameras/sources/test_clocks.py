"""Times of frames, from time stamps that may be wrong in many ways."""

import pytest

from orchestrator.cameras.sources.clocks import StreamClock

NOW = 1_700_000_000.0


def test_without_a_clock_of_the_camera_times_are_those_of_the_earliest_arrival() -> None:
    clock = StreamClock()
    for pts_s, late_s in [(0.0, 0.3), (0.04, 0.1), (0.08, 0.2)]:
        clock.observe(pts_s, NOW + pts_s + late_s, None)
    time_s, kind = clock.time_of(0.08)
    assert time_s == pytest.approx(NOW + 0.18, abs=1e-3)
    assert kind == "wall"


def test_the_clock_of_the_camera_counts_if_there_is_one() -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 5.2)
    assert clock.time_of(5.0) == (pytest.approx(NOW - 0.2), "stream")


def test_a_clock_of_a_camera_that_is_years_off_does_not_count() -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, 1000.0)
    assert clock.time_of(5.0) == (pytest.approx(NOW), "wall")


def test_drift_of_the_time_stamps_is_corrected() -> None:
    clock = StreamClock()
    for second in range(100_000):  # a day and more, 50 millionths slow
        clock.observe(second * (1 - 50e-6), NOW + second + 0.1, NOW)
    time_s, kind = clock.time_of(99_999 * (1 - 50e-6))
    assert time_s == pytest.approx(NOW + 99_999, abs=0.6)
    assert kind == "stream"


@pytest.mark.parametrize("step_s", [0.0, -0.4, -100.0])
def test_time_stamps_that_repeat_or_go_back_become_times_of_arrival(step_s: float) -> None:
    clock = StreamClock()
    times = []
    for index in range(50):
        pts_s, arrived_s = 1000 + index * step_s, NOW + index * 0.4
        clock.observe(pts_s, arrived_s, None)
        times.append(clock.time_of(pts_s)[0])
    assert times == sorted(set(times))
    assert times[-1] == pytest.approx(NOW + 49 * 0.4, abs=2.1)


def test_frames_without_time_stamps_have_times_of_arrival() -> None:
    clock = StreamClock()
    clock.observe(None, NOW, None)
    assert clock.time_of(None) == (NOW, "wall")


def test_after_a_stall_the_times_are_those_of_the_stamps() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None)
    clock.observe(0.04, NOW + 3, None)  # it waited in the network
    assert clock.time_of(0.04)[0] == pytest.approx(NOW + 0.04, abs=0.01)


def test_packets_that_stay_late_set_the_clock_anew() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None)
    for index in range(1, 80):
        clock.observe(index / 10, NOW + 30 + index / 10, None)
    assert clock.time_of(7.9)[0] == pytest.approx(NOW + 37.9, abs=0.1)


def test_no_frame_is_from_the_future() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None)
    clock.observe(0.5, NOW + 0.1, None)
    assert clock.time_of(0.5)[0] <= NOW + 0.1


def test_drift_is_corrected_beside_a_clock_that_nobody_sets() -> None:
    clock = StreamClock()
    for second in range(50_000):  # 50 millionths slow; the camera's clock is 7 s ahead
        pts_s, steady_s = second * (1 - 50e-6), 400.0 + second
        clock.observe(pts_s, NOW + second, NOW + 7, steady_s=steady_s)
    time_s, kind = clock.time_of(49_999 * (1 - 50e-6))
    assert time_s == pytest.approx(NOW + 7 + 49_999, abs=0.6)
    assert clock.moment_s == pytest.approx(400 + 49_999, abs=0.1)
    assert kind == "stream"


@pytest.mark.parametrize("jump_s", [-1000.0, -30.0, 30.0, 1000.0])
def test_after_a_jump_of_the_time_stamps_the_camera_s_clock_does_not_count(jump_s: float) -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 20, steady_s=400.0)
    assert clock.time_of(5.0) == (pytest.approx(NOW - 15), "stream")
    clock.observe(5.04 + jump_s, NOW + 0.04, NOW - 20, steady_s=400.04)
    assert clock.time_of(5.04 + jump_s) == (pytest.approx(NOW + 0.04), "wall")


def test_a_report_that_changes_counts_from_then_on() -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 20, steady_s=400.0)
    clock.observe(5.5, NOW + 0.5, NOW + 30, steady_s=400.5)
    assert clock.time_of(5.5) == (pytest.approx(NOW + 35.5), "stream")
    clock.observe(6.0, NOW + 1, None, steady_s=401.0)
    assert clock.time_of(6.0) == (pytest.approx(NOW + 1), "wall")


def test_time_stamps_that_stand_still_do_not_count_for_a_while() -> None:
    clock = StreamClock()
    for n, pts_s in enumerate((0.0, 0.04, 0.04)):
        clock.observe(pts_s, NOW, None, steady_s=400 + n)
    assert clock.time_of(0.04)[0] == pytest.approx(NOW)
    assert clock.moment_s == 402
    clock.observe(0.05, NOW + 9.9, None, steady_s=411.9)
    clock.time_of(0.05)
    assert clock.moment_s == 411.9
    clock.observe(13.0, NOW + 13.5, None, steady_s=413.5)
    clock.time_of(13.0)
    assert clock.moment_s == pytest.approx(413.0, abs=0.01)
