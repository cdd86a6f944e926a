import pytest

from tests.workshop.evaluation.detected import FAR, HALF_LEFT, LEFT, NEAR_LEFT, RIGHT, picture
from workshop.evaluation.detection import (
    Match,
    average_precision,
    curve_of,
    match,
    precision_recall,
)
from workshop.evaluation.measurement import measure_detection
from workshop.evaluation.results import OperatingPoint


def test_a_picture_without_detections_leaves_its_labels() -> None:
    assert match(picture()) == [Match(None, 0, 0.0), Match(None, 1, 0.0)]


def test_a_picture_without_labels_has_false_alarms_only() -> None:
    assert match(picture((LEFT, 0.9), labels=())) == [Match(0, None, 0.0)]


def test_the_best_score_takes_the_label() -> None:
    matches = match(picture((LEFT, 0.6), (NEAR_LEFT, 0.9), labels=(LEFT,)))
    assert matches == [Match(1, 0, pytest.approx(0.8)), Match(0, None, 1.0)]


def test_a_detection_takes_the_label_it_overlaps_most() -> None:
    assert match(picture((LEFT, 0.9), labels=(HALF_LEFT, LEFT)))[0] == Match(0, 1, 1.0)


@pytest.mark.parametrize(("threshold", "label"), [(0.5, 0), (0.51, None)])
def test_the_iou_threshold_itself_is_enough(threshold: float, label: int | None) -> None:
    assert match(picture((HALF_LEFT, 0.9), labels=(LEFT,)), threshold)[0].label == label


def test_a_detection_of_an_ignored_plate_counts_neither_way() -> None:
    matches = match(picture((LEFT, 0.9), (FAR, 0.8), labels=(LEFT,), ignored=(FAR,)))
    assert matches == [Match(0, 0, 1.0)]


def test_average_precision_of_a_case_by_hand() -> None:
    # ranks: hit, false alarm, hit, hit; 4 labels: recall 1/4, 1/4, 2/4, 3/4
    # precision 1, 1/2, 2/3, 3/4; interpolated at the new recalls 1, 3/4, 3/4
    curve = precision_recall([0.9, 0.8, 0.7, 0.6], [True, False, True, True], 4)
    assert curve.precision == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4])
    assert curve.recall == pytest.approx([1 / 4, 1 / 4, 2 / 4, 3 / 4])
    assert average_precision(curve) == pytest.approx((1 + 3 / 4 + 3 / 4) / 4)


def test_order_does_not_matter_and_ties_count_together() -> None:
    curve = precision_recall([0.5, 0.9, 0.5], [False, True, True], 2)
    assert curve.threshold == pytest.approx([0.9, 0.5])
    assert curve.precision == pytest.approx([1, 2 / 3])
    assert curve.recall == pytest.approx([1 / 2, 1])


def test_detections_of_all_pictures_share_one_curve() -> None:
    curve = curve_of([picture((LEFT, 0.5)), picture((FAR, 0.9))])
    assert curve.recall == pytest.approx([0, 1 / 4])
    assert average_precision(curve) == pytest.approx(1 / 4 * 1 / 2)


def test_figures_of_a_case_by_hand() -> None:
    result = measure_detection([picture((LEFT, 0.9), (FAR, 0.6), (RIGHT, 0.1))], 0.25)
    assert result.at_threshold == OperatingPoint(0.25, precision=0.5, recall=0.5, f1=0.5)
    assert result.at_best_f1.threshold == pytest.approx(0.1)
    assert result.at_best_f1.f1 == pytest.approx(0.8)
    assert result.map50 == pytest.approx((1 + 2 / 3) / 2)
    widths = {row.bin: (row.hits, row.plates) for row in result.by_width_px}
    assert widths["80-120"] == (1, 2)
    assert widths["<40"] == (0, 0)


def test_map_from_50_to_95_asks_for_closer_boxes() -> None:
    # IoU 0.8 is enough at 0.50, 0.55, ..., 0.80: seven of ten thresholds
    result = measure_detection([picture((NEAR_LEFT, 0.9), labels=(LEFT,))], 0.25)
    assert result.map50 == 1
    assert result.map50_95 == pytest.approx(0.7)


def test_no_detection_at_all_is_no_recall() -> None:
    result = measure_detection([picture()], 0.25)
    assert result.at_threshold.recall == 0
    assert result.at_threshold.precision is None
    assert result.map50 == 0
