"""Valid answers of the detector, and the error messages about others."""

import math

import numpy as np
import pytest
import torch

from orchestrator.detection.letterbox import Letterbox
from orchestrator.detection.postprocessing import Detections, best_of, keep_best, to_pictures
from orchestrator.detection.tiles import tiles_around
from orchestrator.errors import ModelError
from orchestrator.settings import Settings
from tests.scripted_networks import rows

BOX = Letterbox(torch.zeros(1, 480, 640, 3, dtype=torch.uint8), 1.0, (0, 0))
ONE, TWO = (100.0, 100.0, 200.0, 125.0, 0.9), (300.0, 50.0, 400.0, 75.0, 0.8)
PADDING = (0.0, 0.0, 0.0, 0.0, 0.0)


def detections_in(answer: torch.Tensor, **settings: float) -> Detections:
    return keep_best(answer, BOX, (640, 480), Settings(**settings))


def test_no_rows_are_no_plates() -> None:
    assert detections_in(torch.zeros(1, 0, 6)).scores.tolist() == []


def test_rows_in_any_order_give_the_best_first() -> None:
    assert detections_in(rows(ONE, TWO)).xyxy.tolist() == [[100, 100, 200, 125], [300, 50, 400, 75]]
    backwards = detections_in(rows(TWO, ONE))
    assert backwards.xyxy.tolist() == [[100, 100, 200, 125], [300, 50, 400, 75]]
    assert backwards.scores.tolist() == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize("threshold", [0.35, 0.0])
def test_rows_of_zeros_are_padding_whatever_the_threshold(threshold: float) -> None:
    detections = detections_in(rows(ONE, PADDING, PADDING), detection_threshold=threshold)
    assert detections.scores.tolist() == pytest.approx([0.9])


def test_doubles_are_taken_and_scores_may_be_0_and_1() -> None:
    detections = detections_in(rows((100, 100, 200, 125, 1.0), PADDING).double())
    assert (detections.scores.tolist(), detections.xyxy.dtype) == ([1.0], np.float32)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        pytest.param(torch.zeros(1, 5), r"float32 \[1, 5\]", id="no boxes"),
        pytest.param(torch.zeros(1, 300, 5), r"float32 \[1, 300, 5\]", id="five columns"),
        pytest.param(torch.zeros(2, 300, 6), r"float32 \[2, 300, 6\]", id="two pictures"),
        pytest.param(torch.zeros(1, 3, 6).int(), r"int32 \[1, 3, 6\]", id="whole numbers"),
    ],
)
def test_an_answer_of_another_shape_is_refused(answer: torch.Tensor, got: str) -> None:
    with pytest.raises(ModelError, match=rf"^yolo: wanted floats \[1, K, 6\], got {got}$"):
        detections_in(answer)


@pytest.mark.parametrize(
    ("row", "got"),
    [
        pytest.param((math.nan, 0, 0, 0, 0), "NaN", id="NaN in a box"),
        pytest.param((0, 0, 0, 0, math.nan), "NaN", id="NaN as a score"),
        pytest.param((0, 0, math.inf, 0, 0), "infinity", id="infinity"),
        pytest.param((-math.inf, 0, math.inf, 0, 0), "infinity", id="two infinities"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_even_in_padding(row, got: str) -> None:
    with pytest.raises(ModelError, match=rf"^yolo: wanted finite numbers, got {got} in row 1$"):
        detections_in(rows(ONE, row))


def test_huge_numbers_whose_sum_overflows_are_finite() -> None:
    huge = (3e38, 3e38, 3.1e38, 3.1e38, 0.1)
    assert detections_in(rows(ONE, huge)).scores == pytest.approx([0.9])


@pytest.mark.parametrize("score", [37.2, -0.5])
def test_scores_beyond_0_to_1_are_refused_even_in_padding(score: float) -> None:
    with pytest.raises(ModelError, match=rf"^yolo: wanted scores in \[0, 1\], got {score}$"):
        detections_in(rows(ONE, (0, 0, 10, 10, score)))


@pytest.mark.parametrize(
    ("boxes", "got"),
    [
        pytest.param([ONE, (30, 10, 20, 15, 0.8)], "30, 10, 20, 15", id="x turned round"),
        pytest.param([ONE, (10, 15, 20, 10, 0.8)], "10, 15, 20, 10", id="y turned round"),
        pytest.param([ONE, (10, 15, 20, 15, 0.8)], "10, 15, 20, 15", id="no height"),
        pytest.param([(320, 240, 100, 25, 0.9)], "320, 240, 100, 25", id="centre and size"),
        pytest.param([(0.5, 0.5, 0.75, 0.625, 0.9)], "0.5, 0.5, 0.75, 0.625", id="parts"),
        pytest.param([(700, 100, 800, 125, 0.9)], "700, 100, 800, 125", id="right of it"),
        pytest.param([(100, 480, 200, 505, 0.9)], "100, 480, 200, 505", id="below it"),
        pytest.param([(-90, 10, 0, 30, 0.9)], "-90, 10, 0, 30", id="left of it"),
    ],
)
def test_boxes_that_are_not_xyxy_in_the_letterbox_are_refused(boxes, got: str) -> None:
    with pytest.raises(
        ModelError,
        match="^yolo: wanted x0 < x1 and y0 < y1 in pixels of the 640x480 letterbox, "
        rf"got {got}$",
    ):
        detections_in(rows(*boxes))


def test_boxes_of_rows_that_are_not_sure_may_be_anything() -> None:
    assert detections_in(rows(ONE, (30, 10, 20, 15, 0.3))).scores == pytest.approx([0.9])


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((0, 0, 3, 3, 0.9), id="small in the corner"),
        pytest.param((-20, -10, 5, 2.5, 0.9), id="cut off at the top left"),
        pytest.param((50, -10, 90, 0.5, 0.9), id="hardly in at the top"),
        pytest.param((-30, 50, 0.5, 60, 0.9), id="hardly in at the left"),
        pytest.param((639.5, 50, 660, 60, 0.9), id="hardly in at the right"),
        pytest.param((50, 479.5, 90, 490, 0.9), id="hardly in at the bottom"),
        pytest.param((630, 470, 700, 500, 0.9), id="cut off at the bottom right"),
        pytest.param((0, 0, 640, 480, 0.9), id="the whole letterbox"),
    ],
)
def test_small_and_cut_boxes_are_no_faults(box: tuple[float, ...]) -> None:
    assert detections_in(rows(box)).scores == pytest.approx([0.9])


def test_a_box_outside_does_no_harm_beside_one_inside() -> None:
    assert len(detections_in(rows(ONE, (700, 100, 800, 125, 0.8))).scores) == 2


def test_the_letterbox_that_is_named_is_the_one_the_detector_saw() -> None:
    # 1280x720 is halved to 640x360 and padded to 640x384.
    box = Letterbox(torch.zeros(1, 384, 640, 3, dtype=torch.uint8), 0.5, (0, 12))
    with pytest.raises(ModelError, match="of the 640x384 letterbox"):
        keep_best(rows((10, 400, 50, 410, 0.9)), box, (1280, 720), Settings())


SHRUNK = Letterbox(torch.zeros(1, 544, 960, 3, dtype=torch.uint8), 0.5, (0, 2))
"""Letterbox of a picture of 1920 x 1080."""


def faint_detections_in(*boxes: tuple[float, ...]) -> Detections:
    return to_pictures(rows(*boxes), [SHRUNK], (1920, 1080), Settings())[0]


def test_faint_finds_count_only_where_the_picture_was_shrunk_much() -> None:
    faint = (100.0, 102.0, 120.0, 108.0, 0.1)
    assert faint_detections_in(faint).xyxy.tolist() == [[200, 200, 240, 212]]
    (detections,) = to_pictures(rows(faint), [BOX], (640, 480), Settings())
    assert len(detections.scores) == 0


def test_tiles_lie_round_faint_and_small_finds() -> None:
    wide_and_clear = (400.0, 202.0, 480.0, 222.0, 0.9)
    small, faint = (100.0, 102.0, 120.0, 108.0, 0.9), (700.0, 302.0, 780.0, 322.0, 0.1)
    tiles = tiles_around(faint_detections_in(wide_and_clear, small, faint), 0.5, (1920, 1080))
    assert tiles == [(60, 110, 380, 302), (1320, 524, 1640, 716)]


def test_a_find_within_a_tile_needs_no_other_and_tiles_stay_in_the_picture() -> None:
    beside = [(2.0 + 20 * i, 4.0, 16.0 + 20 * i, 8.0, 0.9 - i / 100) for i in range(3)]
    assert tiles_around(faint_detections_in(*beside), 0.5, (1920, 1080)) == [(0, 0, 320, 192)]


@pytest.mark.parametrize(
    ("box", "tiles"),
    [
        pytest.param((70, 150, 90, 160), 1, id="left"),
        pytest.param((69, 150, 89, 160), 2, id="beyond the left"),
        pytest.param((350, 150, 370, 160), 1, id="right"),
        pytest.param((351, 150, 371, 160), 2, id="beyond the right"),
        pytest.param((150, 110, 170, 120), 1, id="top"),
        pytest.param((150, 109, 170, 120), 2, id="beyond the top"),
        pytest.param((150, 290, 170, 302), 1, id="bottom"),
        pytest.param((150, 290, 170, 303), 2, id="beyond the bottom"),
        pytest.param((500, 500, 580, 520), 1, id="wide and clear"),
        pytest.param((500, 500, 579, 520), 2, id="small"),
    ],
)
def test_a_box_needs_a_tile_of_its_own_where_no_other_holds_it(box, tiles: int) -> None:
    """The first tile is 60, 110 to 380, 302. A box needs half its width of space beside it."""
    xyxy = np.array([(200.0, 200.0, 240.0, 212.0), box])
    detections = Detections(xyxy, np.array([0.9, 0.5]))
    assert len(tiles_around(detections, 0.5, (1920, 1080))) == tiles


@pytest.mark.parametrize(
    ("find", "size_wh", "tile"),
    [
        pytest.param((945, 530, 955, 533, 0.9), (1920, 1080), (1600, 888, 1920, 1080), id="corner"),
        pytest.param((945, 200, 955, 203, 0.9), (1920, 1080), (1600, 303, 1920, 495), id="right"),
        pytest.param((40, 40, 50, 43, 0.9), (200, 100), (0, 0, 200, 100), id="small picture"),
    ],
)
def test_a_tile_at_an_edge_is_as_large_as_others(
    find: tuple[float, ...], size_wh: tuple[int, int], tile: tuple[int, int, int, int]
) -> None:
    (detections,) = to_pictures(rows(find), [SHRUNK], size_wh, Settings())
    assert tiles_around(detections, 0.5, size_wh) == [tile]


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((120.0, 102.0, 100.0, 108.0, 0.1), id="no width"),
        pytest.param((100.0, 108.0, 120.0, 102.0, 0.1), id="no height"),
        pytest.param((100.0, 102.0, 100.0, 108.0, 0.1), id="a line down"),
        pytest.param((100.0, 102.0, 120.0, 102.0, 0.1), id="a line across"),
    ],
)
def test_faint_finds_without_an_area_are_dropped(box: tuple[float, ...]) -> None:
    assert len(faint_detections_in(box).scores) == 0


def test_there_are_two_tiles_at_most() -> None:
    apart = [(180.0 * i, 100.0, 180.0 * i + 20, 106.0, 0.1 + i / 100) for i in range(5)]
    assert len(tiles_around(faint_detections_in(*apart), 0.5, (1920, 1080))) == 2


def test_the_better_find_of_a_closer_look_stays() -> None:
    far = Detections(np.array([[10.0, 10, 50, 20], [300, 10, 340, 20]]), np.array([0.1, 0.1]))
    near = Detections(np.array([[11.0, 10, 51, 20]]), np.array([0.8]))
    best = best_of([far, near], Settings())
    assert best.xyxy.tolist() == [[11, 10, 51, 20]]
