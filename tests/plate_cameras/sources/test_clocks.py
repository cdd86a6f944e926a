"""Times of frames, from time stamps that may be wrong in many ways."""

from functools import partial
from math import nan

import pytest

from plate_cameras.sources.clocks import StreamClock

NOW = 1_700_000_000.0
near = partial(pytest.approx, abs=0.001)  # a part of the Unix time would be minutes


Packet = tuple[float | None, float, float | None]
"""A packet: its time stamp, its arrival and the camera's clock at the time stamp 0.

The latter two count from NOW, and the steady time of the arrival from 400 s.
"""


def follow(clock: StreamClock, *packets: Packet) -> tuple[float, str]:
    """Return the time of the last packet, counted from NOW, and the kind of the clock."""
    for pts_s, arrival_s, zero_s in packets:
        reported_s = None if zero_s is None else NOW + zero_s
        unix_s = NOW + arrival_s
        clock.observe(pts_s, 400.0 + arrival_s, unix_s=unix_s, realtime_s=reported_s)
    time_s, kind = clock.time_of(packets[-1][0])
    return time_s - NOW, kind


@pytest.mark.parametrize(
    ("packets", "time_s", "kind"),
    [
        pytest.param([(None, 0.0, None)], 0.0, "wall", id="no time stamps"),
        pytest.param([(5.0, 0.0, nan)], 0.0, "wall", id="a report that is no number"),
        pytest.param(
            [(0.0, 0.3, None), (0.04, 0.14, None), (0.08, 0.28, None)], 0.18, "wall",
            id="by the earliest arrival",
        ),
        pytest.param([(0.0, 0.0, None), (0.04, 3.0, None)], 0.0415, "wall", id="after a stall"),
        pytest.param([(0.0, 0.0, None), (0.5, 0.1, None)], 0.1, "wall", id="not from the future"),
        pytest.param([(5.0, 0.0, -20.0)], -15.0, "stream", id="the camera's clock"),
        *(
            pytest.param(
                [(5.0, 0.0, -20.0), (5.04 + jump_s, 0.04, -20.0)], 0.04, "wall", id=f"jump {jump_s}"
            )
            for jump_s in (-1000.0, -30.0, 30.0, 1000.0)
        ),
        pytest.param(
            [(5.0, 0.0, -20.0), (5.5, 0.5, 30.0)], 35.5, "stream", id="another report"
        ),
        pytest.param(
            [(5.0, 0.0, -20.0), (5.5, 0.5, 30.0), (6.0, 1.0, None)], 1.0, "wall", id="no report now"
        ),
        pytest.param([(5.0, 0.0, -66.0)], 0.0, "wall", id="61 s behind"),
        pytest.param([(5.0, 0.0, -65.0)], -60.0, "stream", id="a minute behind"),
        pytest.param([(5.0, 0.0, 55.0)], 60.0, "stream", id="a minute ahead"),
        pytest.param([(5.0, 0.0, 56.0)], 0.0, "wall", id="61 s ahead"),
        pytest.param([(5.0, 0.0, -5.0), (4.0, 0.0, -5.0)], -1.0, "stream", id="reordered frames"),
        pytest.param([(5.0, 0.0, -5.0), (3.75, 0.0, -5.0)], 0.0, "wall", id="a jump back"),
        pytest.param([(5.0, 0.0, -5.0), (7.0, 0.0, -5.0)], 2.0, "stream", id="a quick packet"),
        pytest.param([(5.0, 0.0, -5.0), (7.25, 0.0, -5.0)], 0.0, "wall", id="a jump ahead"),
        pytest.param(
            [(0.0, 0.75, -20.0), (10.0, 10.75, -20.0), (10.5, 10.5, -20.0)], -9.5, "stream",
            id="a delay at the beginning",
        ),
    ],
)  # fmt: skip
def test_the_time_of_a_frame(packets: list[Packet], time_s: float, kind: str) -> None:
    assert follow(StreamClock(), *packets) == (near(time_s), kind)


def test_drift_is_corrected_beside_a_clock_that_nobody_sets() -> None:
    clock = StreamClock()
    for second in range(50_000):  # 50 millionths slow; the camera's clock is 7 s ahead
        time_s, kind = follow(clock, (second * (1 - 50e-6), second, 7.0))
    assert time_s == pytest.approx(7 + 49_999, abs=0.6)
    assert clock.moment_s == pytest.approx(400 + 49_999, abs=0.1)
    assert kind == "stream"


@pytest.mark.parametrize(
    ("wrong_pts_s", "zero_s"),
    [
        pytest.param(None, 0.0, id="none"),
        pytest.param(nan, 0.0, id="no number"),
        pytest.param(0.0, 0.0, id="repeated"),
        pytest.param(1000.0, -999.0, id="ahead"),
        pytest.param(-1000.0, 1001.0, id="back"),
    ],
)
@pytest.mark.parametrize(("later_s", "delay_s"), [(9.75, 0.0), (10.0, 0.25)])
def test_a_wrong_time_stamp_takes_the_trust_in_the_next_ones_for_ten_seconds(
    wrong_pts_s: float | None, zero_s: float, later_s: float, delay_s: float
) -> None:
    clock, arrival_s = StreamClock(), 1.0 + later_s
    late_packet = (arrival_s - 0.25 - zero_s, arrival_s, None)  # by a quarter of a second
    follow(clock, (0.0, 0.0, None), (wrong_pts_s, 1.0, None), late_packet)
    assert clock.moment_s == pytest.approx(400.0 + arrival_s - delay_s, abs=0.01)


@pytest.mark.parametrize(
    ("packets", "moment_s"),
    [
        pytest.param([(0.0, 0.0), (8.0, 10.0), (13.0, 16.0)], 13.008, id="2 s are not late"),
        pytest.param([(0.0, 0.0), (7.75, 10.0), (12.0, 15.0)], 12.0075, id="may be a stall"),
        pytest.param([(0.0, 0.0), (7.75, 10.0), (12.25, 15.25)], 15.25, id="late for good"),
        pytest.param([(0.0, 0.0), (1.0, 8.0)], 3.0, id="never more than five seconds"),
        pytest.param(
            [(0.0, 0.0), *((second, second + 0.5) for second in range(2, 202, 2))], 200.1,
            id="the least delay is forgotten slowly",
        ),
    ],
)  # fmt: skip
def test_the_moment_of_a_frame_that_comes_late(
    packets: list[tuple[float, float]], moment_s: float
) -> None:
    clock = StreamClock()
    follow(clock, *((pts_s, arrival_s, None) for pts_s, arrival_s in packets))
    assert clock.moment_s == near(400.0 + moment_s)


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
    usual = [(second, second + 1.0, -20.0) for second in range(12)]
    time_s, _ = follow(StreamClock(), *usual, (12.0, 13.0 - quicker_s, -20.0))
    assert time_s == near(-8 - drift_s)


def test_a_change_of_the_delay_is_no_drift_after_a_correction_either() -> None:
    clock = StreamClock()
    for second in range(1300):  # its drift is corrected shortly before the end
        pts_s = second * (1 - 400e-6)
        before_s, _ = follow(clock, (pts_s, second, -20.0))
    assert follow(clock, (pts_s + 1, 1299.75, -20.0))[0] == near(before_s + 1)  # a quicker packet
