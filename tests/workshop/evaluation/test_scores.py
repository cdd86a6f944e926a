import pytest

from workshop.evaluation.proportions import bin_of, paired_interval, wilson_interval
from workshop.evaluation.reading import (
    Coverage,
    brier_score,
    coverage_at,
    coverage_curve,
    equal_mass_reliability,
    expected_calibration_error,
    reliability,
)

SCORES = [0.95, 0.85, 0.55, 0.52, 0.15]
RIGHT = [True, True, True, False, False]


def test_bins_hold_counts_mean_scores_and_accuracy() -> None:
    diagram = reliability(SCORES, RIGHT)
    assert [one.count for one in diagram] == [0, 1, 0, 0, 0, 2, 0, 0, 1, 1]
    assert diagram[5].score == pytest.approx(0.535)
    assert diagram[5].accuracy == 0.5
    assert diagram[0].accuracy is None
    assert reliability([1.0], [True])[-1].count == 1


def test_expected_calibration_error_weighs_bins_by_count() -> None:
    # (0.05 + 0.15 + 2 * 0.035 + 0.15) / 5
    assert expected_calibration_error(reliability(SCORES, RIGHT)) == pytest.approx(0.084)


def test_bins_of_equal_mass_hold_equally_many() -> None:
    # 0.15, 0.52 | 0.55, 0.85 would be 2.5 each: the first edge is at round(2.5) = 2
    low, high = equal_mass_reliability(SCORES, RIGHT, bins=2)
    assert (low.count, low.low, low.high, low.accuracy) == (2, 0.15, 0.52, 0)
    assert (high.count, high.low, high.high, high.accuracy) == (3, 0.55, 0.95, 1)
    # (2 * (0.335 - 0) + 3 * (1 - 2.35 / 3)) / 5
    assert expected_calibration_error([low, high]) == pytest.approx((0.67 + 0.65) / 5)


def test_readings_of_one_score_share_a_bin_whatever_their_order() -> None:
    scores, right = [0.9, 0.5, 0.5, 0.5], [True, True, False, False]
    bins = equal_mass_reliability(scores, right, bins=2)
    assert [one.count for one in bins] == [3, 1]
    assert equal_mass_reliability(scores[::-1], right[::-1], bins=2) == bins


def test_brier_score_is_the_mean_squared_distance() -> None:
    assert brier_score([1.0, 0.5, 0.2], [True, True, False]) == pytest.approx((0.25 + 0.04) / 3)


def test_nothing_has_no_calibration() -> None:
    assert expected_calibration_error(reliability([], [])) is None
    assert equal_mass_reliability([], []) == []
    assert expected_calibration_error([]) is None
    assert brier_score([], []) is None
    assert coverage_curve([], []) == []


def test_coverage_grows_as_the_threshold_falls() -> None:
    assert coverage_curve([0.9, 0.5, 0.5, 0.2], [True, False, True, True]) == [
        Coverage(0.9, 0.25, 0.0),
        Coverage(0.5, 0.75, pytest.approx(1 / 3)),
        Coverage(0.2, 1.0, 0.25),
    ]


def test_the_most_coverage_of_a_precision_is_found() -> None:
    curve = coverage_curve([0.9, 0.5, 0.4, 0.2], [True, False, True, True])
    assert coverage_at(curve, 0.99) == Coverage(0.9, 0.25, 0.0)
    assert coverage_at(curve, 0.75) == Coverage(0.2, 1.0, 0.25)
    assert coverage_at(coverage_curve([0.9], [False]), 0.99) is None


def test_the_wilson_interval_of_a_textbook() -> None:
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 81 of 263
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(0, 0) is None
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.mark.parametrize(("value", "number"), [(0, 0), (39.9, 0), (40, 1), (60, 2), (1000, 2)])
def test_an_edge_belongs_to_the_bin_above(value: float, number: int) -> None:
    assert bin_of(value, (40, 60)) == number


def test_the_paired_interval_of_unrelated_proportions_is_worked_out_by_hand() -> None:
    """Both are 50 of 100, from 0.4038 to 0.5962, so the sides are 0.0962 times the root of 2."""
    assert paired_interval(25, 25, 25, 25) == pytest.approx((-0.1360, 0.1360), abs=1e-4)


def test_the_paired_interval_turns_with_the_sides() -> None:
    low, high = paired_interval(both=50, only_new=20, only_old=4, neither=26)
    assert 0 < low < 0.16 < high
    assert paired_interval(50, 4, 20, 26) == pytest.approx((-high, -low))


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param((300, 0, 0, 0), id="all-succeed"),
        pytest.param((0, 0, 0, 300), id="all-fail"),
        pytest.param((290, 0, 0, 10), id="the-same-ones"),
    ],
)
def test_without_a_difference_the_paired_interval_is_narrow_around_zero(counts) -> None:
    low, high = paired_interval(*counts)
    assert -0.02 < low < 0 < high < 0.02
