import numpy as np
import pytest

from orchestrator.detection.boxes import area, clip, grow, intersection, iou, nms


def boxes(*rows: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(rows, np.float32).reshape(-1, 4)


@pytest.mark.parametrize(
    ("box", "clipped_box"),
    [
        pytest.param((10, 10, 20, 20), (10, 10, 20, 20), id="inside"),
        pytest.param((-5, 10, 20, 20), (0, 10, 20, 20), id="left edge"),
        pytest.param((10, -5, 20, 20), (10, 0, 20, 20), id="top edge"),
        pytest.param((10, 10, 120, 20), (10, 10, 100, 20), id="right edge"),
        pytest.param((10, 10, 20, 70), (10, 10, 20, 50), id="bottom edge"),
        pytest.param((120, 60, 130, 70), (100, 50, 100, 50), id="right of it and below"),
        pytest.param((-30, -20, -10, -5), (0, 0, 0, 0), id="left of it and above"),
    ],
)
def test_clip_keeps_boxes_in_the_picture(box, clipped_box) -> None:
    assert np.array_equal(clip(boxes(box), (100, 50)), boxes(clipped_box))


def test_clip_leaves_its_argument_alone() -> None:
    box = boxes((-5, 0, 10, 10))
    clip(box, (100, 50))
    assert np.array_equal(box, boxes((-5, 0, 10, 10)))


def test_grow_adds_a_part_of_each_side() -> None:
    grown_box = grow(boxes((100, 50, 200, 70)), (0.05, 0.2))
    assert np.allclose(grown_box, boxes((95, 46, 205, 74)))


def test_intersection_is_the_area_that_two_boxes_share() -> None:
    other_boxes = boxes((5, 2, 20, 6), (10, 0, 20, 10), (30, 30, 40, 40))
    assert intersection(boxes((0, 0, 10, 10)), other_boxes).tolist() == [[20, 0, 0]]


def test_area_of_a_box_turned_inside_out_is_zero() -> None:
    assert area(boxes((0, 0, 4, 5), (4, 0, 0, 5))).tolist() == [20, 0]


@pytest.mark.parametrize(
    ("other_box", "overlap"),
    [
        pytest.param((0, 0, 10, 10), 1.0, id="same"),
        pytest.param((5, 0, 15, 10), 1 / 3, id="half"),
        pytest.param((10, 0, 20, 10), 0.0, id="touching"),
        pytest.param((2, 2, 7, 7), 0.25, id="inside"),
        pytest.param((5, 5, 5, 5), 0.0, id="empty"),
    ],
)
def test_iou(other_box, overlap) -> None:
    assert iou(boxes((0, 0, 10, 10)), boxes(other_box)).item() == pytest.approx(overlap)


def test_nms_keeps_the_best_of_overlapping_boxes() -> None:
    xyxy = boxes((0, 0, 10, 10), (1, 0, 11, 10), (50, 50, 60, 60))
    assert nms(xyxy, np.array([0.5, 0.9, 0.7]), 0.5) == [1, 2]


def test_nms_compares_with_kept_boxes_only() -> None:
    # The middle box is dropped for the first, so it cannot drop the third.
    xyxy = boxes((0, 0, 10, 10), (4, 0, 14, 10), (8, 0, 18, 10))
    assert nms(xyxy, np.array([0.9, 0.8, 0.7]), 0.3) == [0, 2]
