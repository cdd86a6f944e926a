"""Matching of boxes, worked out by hand and held against COCO's own code."""

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from tests.workshop.evaluation.scripted import FAR, HALF_LEFT, LEFT, NEAR_LEFT, RIGHT, picture
from workshop.evaluation.detection import (
    DetectedPicture,
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


OUT_OF_RANGE = 1e9
"""Area of a label that COCO ignores: its tools ignore what is not of the sizes asked for."""


def index(annotations, pictures: int) -> COCO:
    coco = COCO()
    numbered = [{"id": number, **facts} for number, facts in enumerate(annotations, 1)]
    images = [{"id": number} for number in range(pictures)]
    coco.dataset = {"images": images, "annotations": numbered, "categories": [{"id": 1}]}
    coco.createIndex()
    return coco


def annotation(image: int, xyxy, **others):
    x0, y0, x1, y1 = xyxy
    area = (x1 - x0) * (y1 - y0)
    bbox = [x0, y0, x1 - x0, y1 - y0]
    return {"image_id": image, "category_id": 1, "bbox": bbox, "area": area, "iscrowd": 0, **others}


def precisions_of_coco(pictures: list[DetectedPicture]) -> list[float]:
    """AP at IoU 0.50, 0.55, ..., 0.95, at the middles of the steps of the recall."""
    labels = [annotation(i, box) for i, picture in enumerate(pictures) for box in picture.labels]
    ignored = [
        annotation(i, box, area=OUT_OF_RANGE)
        for i, picture in enumerate(pictures)
        for box in picture.ignored
    ]
    detections = [
        annotation(i, box, score=score)
        for i, picture in enumerate(pictures)
        for box, score in zip(picture.boxes, picture.scores, strict=True)
    ]
    truth, answers = index(labels + ignored, len(pictures)), index(detections, len(pictures))
    evaluator = COCOeval(truth, answers, "bbox")
    evaluator.params.maxDets = [1000]
    evaluator.params.areaRng, evaluator.params.areaRngLbl = [[0.0, OUT_OF_RANGE / 2]], ["all"]
    evaluator.params.recThrs = (np.arange(len(labels)) + 0.5) / len(labels)
    evaluator.evaluate()
    evaluator.accumulate()
    return evaluator.eval["precision"][:, :, 0, 0, 0].mean(axis=1).tolist()


def draw_street(seed: int) -> list[DetectedPicture]:
    """Pictures with labels, shifted and doubled detections of most of them, and false alarms."""
    random = np.random.default_rng(seed)
    pictures = []
    for number in range(12):
        corners = random.uniform(0, 900, (random.integers(0, 5), 2))
        sizes = random.uniform((30, 8), (160, 40), corners.shape)
        labels = np.hstack((corners, corners + sizes))
        doubled = labels[random.uniform(size=len(labels)) < 0.4]
        hits = np.vstack((labels[random.uniform(size=len(labels)) < 0.85], doubled))
        hits = hits + random.normal(0, 3, hits.shape)
        alarms = random.uniform(0, 900, (random.integers(0, 4), 2))
        boxes = np.vstack((hits, np.hstack((alarms, alarms + 40))))
        scores = random.uniform(size=len(boxes))
        pictures.append(
            DetectedPicture(str(number), tuple(map(tuple, boxes.tolist())), tuple(scores.tolist()),
                     tuple(map(tuple, labels.tolist())))
        )  # fmt: skip
    return pictures


@pytest.mark.parametrize("seed", range(8))
def test_random_streets_have_the_precision_that_coco_finds(seed: int) -> None:
    pictures = draw_street(seed)
    result, expected_precisions = measure_detection(pictures, 0.5), precisions_of_coco(pictures)
    assert 0.1 < result.map50_95 < result.map50 < 1
    assert result.map50 == pytest.approx(expected_precisions[0], abs=1e-9)
    assert result.map50_95 == pytest.approx(sum(expected_precisions) / 10, abs=1e-9)


@pytest.mark.parametrize(
    "pictures",
    [
        pytest.param([picture()], id="nothing found"),
        pytest.param([picture((LEFT, 0.9)), picture(labels=())], id="a picture without anything"),
        pytest.param([picture((LEFT, 0.9), labels=()), picture((LEFT, 0.8))], id="no labels"),
        pytest.param([picture((FAR, 0.9))], id="false alarms alone"),
        pytest.param([picture((LEFT, 0.9), (RIGHT, 0.8))], id="all found"),
        pytest.param([picture((LEFT, 0.9), (NEAR_LEFT, 0.8), (LEFT, 0.7))], id="found twice"),
        pytest.param([picture((HALF_LEFT, 0.9))], id="the threshold itself"),
        pytest.param([picture((LEFT, 0.9), labels=(LEFT, LEFT))], id="labelled twice"),
        pytest.param(
            [picture((NEAR_LEFT, 0.9), (LEFT, 0.8), labels=(LEFT, HALF_LEFT))], id="overlapping"
        ),
        pytest.param(
            [picture((FAR, 0.9), (LEFT, 0.8), labels=(LEFT,), ignored=(FAR,))], id="ignored"
        ),
    ],
)
def test_edge_cases_have_the_precision_that_coco_finds(pictures: list[DetectedPicture]) -> None:
    expected_precisions = precisions_of_coco(pictures)[0]
    assert average_precision(curve_of(pictures)) == pytest.approx(expected_precisions, abs=1e-9)


def test_ties_count_as_in_the_order_that_is_worst_for_us() -> None:
    hit, alarm = picture((LEFT, 0.9), labels=(LEFT,)), picture((FAR, 0.9), labels=(LEFT,))
    ours = average_precision(curve_of([hit, alarm]))
    assert ours == average_precision(curve_of([alarm, hit]))
    assert ours == pytest.approx(precisions_of_coco([alarm, hit])[0], abs=1e-9)
    assert precisions_of_coco([hit, alarm])[0] == pytest.approx(2 * ours, abs=1e-9)
