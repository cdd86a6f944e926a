"""The filter's values, worked out by hand. A plate here is 0.1 frame widths wide."""

from math import exp, log

import pytest

from plate_cameras.tracking.motion_model import Axis, Motion
from tests.plate_cameras.passing import look, plate

PLATE = plate((300, 200))
NOISE = 0.008**2
"""Variance of a measured place: 0.08 plate widths."""
SIZE_NOISE = 0.07**2


def values(axis: Axis) -> tuple[float, ...]:
    return (axis.value, axis.variance, axis.rate, axis.covariance, axis.rate_variance)


def test_a_coordinate_goes_on_with_its_rate_and_becomes_vague() -> None:
    axis = Axis(value=1, variance=2, rate=5, covariance=0.5, rate_variance=4)
    later = axis.predict(after_s=3, acceleration=3)
    variance = 2 + 2 * 3 * 0.5 + 9 * 4 + 9 * 81 / 4
    assert values(later) == (16, variance, 5, 0.5 + 3 * 4 + 9 * 27 / 2, 4 + 9 * 9)


def test_a_coordinate_stays_as_it_is_for_no_time() -> None:
    axis = Axis(value=1, variance=2, rate=5, covariance=0.5, rate_variance=4)
    assert axis.predict(0, 3) == axis


def test_a_measurement_moves_a_coordinate_by_its_share_of_the_variance() -> None:
    axis = Axis(value=10, variance=7, rate=2, covariance=4, rate_variance=3)
    axis_after = axis.correct(measurement=26, noise=3)  # gains: 7 / 16 and 4 / 16
    assert values(axis_after) == (17, 3.9375, 6, 2.25, 2)


def test_a_plate_that_was_seen_once_stands_with_an_unknown_speed() -> None:
    motion = Motion.start(look(2, PLATE))
    assert motion.time_s == 2
    assert values(motion.x) == pytest.approx((0.3, NOISE, 0, 0, 0.7**2))
    assert values(motion.y) == pytest.approx((0.2, NOISE, 0, 0, 0.7**2))
    assert values(motion.log_size) == pytest.approx((log(0.1), SIZE_NOISE, 0, 0, 0.7**2))


@pytest.mark.parametrize(
    ("log_size", "size"), [(log(0.25), 0.25), (0.5, 1), (-20, exp(-9)), (-8, exp(-8))]
)
def test_a_size_is_a_part_of_the_frame(log_size: float, size: float) -> None:
    motion = Motion(0, Axis(0, 0), Axis(0, 0), Axis(log_size, 0))
    assert motion.size == pytest.approx(size)


MOVING = Motion(1.0, Axis(0.3, 0, rate=0.1), Axis(0.2, 0, rate=-0.02), Axis(log(0.1), 0, rate=0.5))


@pytest.mark.parametrize(
    ("time_s", "after_s"), [(0.5, 0), (1, 0), (1.5, 0.5), (2.5, 1.5), (2.6, 1.5), (9, 1.5)]
)
def test_a_plate_goes_on_for_the_longest_time_and_stops(time_s: float, after_s: float) -> None:
    prediction = MOVING.predict(time_s, 1.5)
    force, growth = 0.3**2, 0.8**2  # three plate widths a second squared
    assert prediction.time_s == time_s
    assert prediction.x.value == pytest.approx(0.3 + 0.1 * after_s)
    assert prediction.y.value == pytest.approx(0.2 - 0.02 * after_s)
    assert prediction.log_size.value == pytest.approx(log(0.1) + 0.5 * after_s)
    spread = prediction.x.variance, prediction.y.variance, prediction.log_size.variance
    assert spread == pytest.approx([after_s**4 / 4 * power for power in (force, force, growth)])


def test_a_look_as_certain_as_the_prediction_moves_it_half_the_way() -> None:
    motion = Motion.start(look(0, PLATE))
    motion_after = motion.correct(look(0, plate((320, 190), width=100 * exp(0.2))))
    noise = (0.008 * exp(0.2)) ** 2  # that of a larger plate is greater
    gain = NOISE / (NOISE + noise)
    assert motion_after.x.value == pytest.approx(0.3 + gain * 0.02)
    assert motion_after.y.value == pytest.approx(0.2 - gain * 0.01)
    assert motion_after.x.variance == motion_after.y.variance == pytest.approx((1 - gain) * NOISE)
    assert motion_after.log_size.value == pytest.approx(log(0.1) + 0.1)
    assert motion_after.log_size.variance == pytest.approx(SIZE_NOISE / 2)


def test_a_misfit_counts_standard_deviations_and_the_area_of_the_prediction() -> None:
    prediction = Motion(
        0,
        Axis(0.28, 0.01**2 - NOISE),
        Axis(0.22, 0.02**2 - NOISE),
        Axis(log(0.1) - 0.3, 0.1**2 - SIZE_NOISE),
    )
    squared_distance, vagueness = prediction.misfit(look(0, PLATE))
    assert squared_distance == pytest.approx(2**2 + 1**2 + 3**2)
    assert vagueness == pytest.approx(log(0.1 * 0.2))
