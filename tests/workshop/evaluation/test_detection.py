import pytest

from tests.workshop.evaluation.detected import FAR, LEFT, RIGHT, picture
from workshop.evaluation.detection import (
    Match,
    average_precision,
    match,
    precision_recall,
)
from workshop.evaluation.measurement import measure_detection
from workshop.evaluation.results import OperatingPoint


def test_a_picture_without_detections_leaves_its_labels() -> None:
    assert match(picture()) == [Match(None, 0, 0.0), Match(None, 1, 0.0)]


def test_a_picture_without_labels_has_false_alarms_only() -> None:
    assert match(picture((LEFT, 0.9), labels=())) == [Match(0, None, 0.0)]


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


def test_figures_of_a_case_by_hand() -> None:
    result = measure_detection([picture((LEFT, 0.9), (FAR, 0.6), (RIGHT, 0.1))], 0.25)
    assert result.at_threshold == OperatingPoint(0.25, precision=0.5, recall=0.5, f1=0.5)
    assert result.at_best_f1.threshold == pytest.approx(0.1)
    assert result.at_best_f1.f1 == pytest.approx(0.8)
    assert result.map50 == pytest.approx((1 + 2 / 3) / 2)
    widths = {row.bin: (row.hits, row.plates) for row in result.by_width_px}
    assert widths["80-120"] == (1, 2)
    assert widths["<40"] == (0, 0)
