"""Distances of texts, and what scores say."""

import pytest

from workshop.evaluation.proportions import bin_of, wilson_interval
from workshop.evaluation.reading import (
    Confusion,
    Coverage,
    align,
    brier_score,
    character_error_rate,
    count_confusions,
    coverage_at,
    coverage_curve,
    edit_distance,
    equal_mass_reliability,
    expected_calibration_error,
    reliability,
)


@pytest.mark.parametrize(
    ("label", "read_text", "edits"),
    [
        ("", "", 0),
        ("A001AA77", "A001AA77", 0),
        ("A001AA77", "", 8),
        ("", "A0", 2),
        ("A001AA77", "A001AA777", 1),
        ("Y777YY777", "Y777YY77", 1),
        ("P090HM102", "B090MH102", 3),
    ],
)
def test_edit_distance_counts_the_fewest_edits(label: str, read_text: str, edits: int) -> None:
    assert edit_distance(label, read_text) == edits


@pytest.mark.parametrize(
    ("label", "read_text", "pairs"),
    [
        pytest.param("A1B", "A7B", [("A", "A"), ("1", "7"), ("B", "B")], id="one length"),
        pytest.param("A12", "A2", [("A", "A"), ("1", ""), ("2", "2")], id="one left out"),
        pytest.param("A2", "A12", [("A", "A"), ("", "1"), ("2", "2")], id="one added"),
        pytest.param("A1", "", [("A", ""), ("1", "")], id="nothing read"),
    ],
)
def test_texts_are_aligned(label: str, read_text: str, pairs: list[tuple[str, str]]) -> None:
    assert align(label, read_text) == pairs


def test_the_character_error_rate_weighs_characters_not_texts() -> None:
    # 1 edit of 8 characters and 2 of 2: 3 / 10, where the mean over texts would be 0.5625
    assert character_error_rate([("A001AA77", "A001AA78"), ("A1", "")]) == pytest.approx(0.3)


def test_nothing_has_no_character_error_rate() -> None:
    assert character_error_rate([]) is None


def test_confusions_come_most_frequent_first() -> None:
    pairs = [("M1", "H1"), ("M2", "H2"), ("77", "7"), ("B", "B"), ("A", "AX")]
    confusions = count_confusions(pairs)
    assert confusions == [Confusion("M", "H", 2), Confusion("", "X", 1), Confusion("7", "", 1)]


SCORES = [0.95, 0.85, 0.55, 0.52, 0.15]
RIGHT = [True, True, True, False, False]


def test_bins_hold_counts_mean_scores_and_accuracy() -> None:
    diagram = reliability(SCORES, RIGHT)
    assert [reliability_bin.count for reliability_bin in diagram] == [0, 1, 0, 0, 0, 2, 0, 0, 1, 1]
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
    assert [reliability_bin.count for reliability_bin in bins] == [3, 1]
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
