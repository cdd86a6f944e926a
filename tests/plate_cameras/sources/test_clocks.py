"""Times of frames, from time stamps that may be wrong in many ways."""

from functools import partial

import pytest

from plate_cameras.sources.clocks import StreamClock

NOW = 1_700_000_000.0
near = partial(pytest.approx, abs=0.001)  # a part of the Unix time would be minutes


def test_without_a_clock_of_the_camera_times_are_those_of_the_earliest_arrival() -> None:
    clock = StreamClock()
    for pts_s, late_s in [(0.0, 0.3), (0.04, 0.1), (0.08, 0.2)]:
        clock.observe(pts_s, NOW + pts_s + late_s, None)
    time_s, kind = clock.time_of(0.08)
    assert time_s == pytest.approx(NOW + 0.18, abs=1e-3)
    assert kind == "wall"


def test_frames_without_time_stamps_have_times_of_arrival() -> None:
    clock = StreamClock()
    clock.observe(None, NOW, None)
    assert clock.time_of(None) == (NOW, "wall")


def test_after_a_stall_the_times_are_those_of_the_stamps() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None)
    clock.observe(0.04, NOW + 3, None)  # it waited in the network
    assert clock.time_of(0.04)[0] == pytest.approx(NOW + 0.04, abs=0.01)


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
    assert clock.time_of(5.0) == (near(NOW - 15), "stream")
    clock.observe(5.04 + jump_s, NOW + 0.04, NOW - 20, steady_s=400.04)
    assert clock.time_of(5.04 + jump_s) == (near(NOW + 0.04), "wall")


def test_a_report_that_changes_counts_from_then_on() -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 20, steady_s=400.0)
    clock.observe(5.5, NOW + 0.5, NOW + 30, steady_s=400.5)
    assert clock.time_of(5.5) == (near(NOW + 35.5), "stream")
    clock.observe(6.0, NOW + 1, None, steady_s=401.0)
    assert clock.time_of(6.0) == (near(NOW + 1), "wall")


def test_time_stamps_that_stand_still_do_not_count_for_a_while() -> None:
    clock = StreamClock()
    for n, pts_s in enumerate((0.0, 0.04, 0.04)):
        clock.observe(pts_s, NOW, None, steady_s=400 + n)
    assert clock.time_of(0.04)[0] == near(NOW)
    assert clock.moment_s == 402
    clock.observe(0.05, NOW + 9.9, None, steady_s=411.9)
    clock.time_of(0.05)
    assert clock.moment_s == 411.9
    clock.observe(13.0, NOW + 13.5, None, steady_s=413.5)
    clock.time_of(13.0)
    assert clock.moment_s == pytest.approx(413.0, abs=0.01)


@pytest.mark.parametrize(
    ("wrong_pts_s", "zero_s"),
    [
        pytest.param(None, 400.0, id="none"),
        pytest.param(float("nan"), 400.0, id="no number"),
        pytest.param(0.0, 400.0, id="repeated"),
        pytest.param(1000.0, -599.0, id="ahead"),
        pytest.param(-1000.0, 1401.0, id="back"),
    ],
)
@pytest.mark.parametrize(("later_s", "delay_s"), [(9.75, 0.0), (10.0, 0.25)])
def test_a_wrong_time_stamp_takes_the_trust_in_the_next_ones_for_ten_seconds(
    wrong_pts_s: float | None, zero_s: float, later_s: float, delay_s: float
) -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None, steady_s=400.0)
    clock.observe(wrong_pts_s, NOW + 1, None, steady_s=401.0)
    arrived_s = 401.0 + later_s
    pts_s = arrived_s - 0.25 - zero_s  # a quarter of a second late
    clock.observe(pts_s, NOW + 1 + later_s, None, steady_s=arrived_s)
    clock.time_of(pts_s)
    assert clock.moment_s == pytest.approx(arrived_s - delay_s, abs=0.01)


@pytest.mark.parametrize(
    ("step_s", "kind"),
    [
        pytest.param(-1.0, "stream", id="reordered frames"),
        pytest.param(-1.25, "wall", id="a jump back"),
        pytest.param(2.0, "stream", id="a quick packet"),
        pytest.param(2.25, "wall", id="a jump ahead"),
    ],
)
def test_a_jump_of_the_time_stamps_is_longer_than_reordering_and_haste(
    step_s: float, kind: str
) -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 5, steady_s=400.0)
    clock.observe(5.0 + step_s, NOW, NOW - 5, steady_s=400.0)
    assert clock.time_of(5.0 + step_s)[1] == kind


@pytest.mark.parametrize(
    ("first_late_s", "passed_s", "delay_s"),
    [
        pytest.param(2.0, 6.0, 3.0, id="two seconds are not late"),
        pytest.param(2.25, 5.0, 3.0, id="five seconds may be a stall"),
        pytest.param(2.25, 5.25, 0.0, id="late for good"),
    ],
)
def test_packets_are_late_for_good_after_five_seconds(
    first_late_s: float, passed_s: float, delay_s: float
) -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None, steady_s=400.0)
    clock.observe(10.0 - first_late_s, NOW + 10, None, steady_s=410.0)
    pts_s = 10.0 + passed_s - 3.0
    clock.observe(pts_s, NOW + 10 + passed_s, None, steady_s=410.0 + passed_s)
    clock.time_of(pts_s)
    assert clock.moment_s == pytest.approx(410.0 + passed_s - delay_s, abs=0.01)


def test_a_frame_is_never_more_than_five_seconds_old() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None, steady_s=400.0)
    clock.observe(1.0, NOW + 8, None, steady_s=408.0)
    clock.time_of(1.0)
    assert clock.moment_s == 403.0


def test_the_least_delay_of_the_network_is_forgotten_slowly() -> None:
    clock = StreamClock()
    clock.observe(0.0, NOW, None, steady_s=400.0)
    for second in range(2, 202, 2):  # half a second slower from now on
        clock.observe(second, NOW + second + 0.5, None, steady_s=400.5 + second)
    clock.time_of(200.0)
    assert clock.moment_s == pytest.approx(600.1, abs=0.001)


def test_a_delay_at_the_beginning_does_not_move_the_camera_s_clock() -> None:
    clock = StreamClock()
    for passed_s, delay_s in ((0.0, 0.75), (10.0, 0.75), (10.5, 0.0)):
        steady_s = 400.0 + passed_s + delay_s
        clock.observe(passed_s, NOW + passed_s + delay_s, NOW - 20, steady_s=steady_s)
    assert clock.time_of(10.5) == (near(NOW - 9.5), "stream")


@pytest.mark.parametrize(
    ("quicker_s", "drift_s"),
    [
        pytest.param(0.25, 0.0, id="delay"),
        pytest.param(0.5, 0.0, id="the longest delay"),
        pytest.param(0.75, 0.75, id="drift"),
    ],
)
def test_a_change_of_the_delay_is_no_drift_unless_it_is_long(
    quicker_s: float, drift_s: float
) -> None:
    clock = StreamClock()
    for second in range(12):
        clock.observe(second, NOW + second + 1, NOW - 20, steady_s=401.0 + second)
    steady_s = 413.0 - quicker_s
    clock.observe(12.0, NOW + steady_s - 400, NOW - 20, steady_s=steady_s)
    assert clock.time_of(12.0)[0] == near(NOW - 8 - drift_s)


def test_a_change_of_the_delay_is_no_drift_after_a_correction_either() -> None:
    clock = StreamClock()
    for second in range(1300):  # its drift is corrected shortly before the end
        pts_s = second * (1 - 400e-6)
        clock.observe(pts_s, NOW + second, NOW - 20, steady_s=400.0 + second)
    before_s, _ = clock.time_of(pts_s)
    clock.observe(pts_s + 1, NOW + 1299.75, NOW - 20, steady_s=1699.75)  # a quicker packet
    assert clock.time_of(pts_s + 1)[0] == pytest.approx(before_s + 1, abs=0.001)


@pytest.mark.parametrize(
    ("off_s", "kind"), [(-61.0, "wall"), (-60.0, "stream"), (60.0, "stream"), (61.0, "wall")]
)
def test_a_camera_s_clock_is_believed_if_it_is_off_by_a_minute_at_most(
    off_s: float, kind: str
) -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, NOW - 5 + off_s, steady_s=400.0)
    assert clock.time_of(5.0)[1] == kind


def test_a_report_that_is_no_number_is_none() -> None:
    clock = StreamClock()
    clock.observe(5.0, NOW, float("nan"), steady_s=400.0)
    assert clock.time_of(5.0) == (NOW, "wall")
