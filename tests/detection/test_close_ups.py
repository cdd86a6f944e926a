"""Close-ups and closer looks: the second detection, and the boxes that it replaces."""

import numpy as np
import pytest
import torch

from orchestrator.detection.letterbox import PAD_GREY, Letterbox
from orchestrator.detection.nearby import NEARBY_SIDE_PX, find_same, surroundings_of
from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.search import drop_parts, keep_close_ups, search
from orchestrator.settings import Settings
from tests.scripted_networks import picture


def detections(*rows: tuple[float, float, float, float, float]) -> Detections:
    boxes = np.array(rows, np.float32).reshape(-1, 5)
    return Detections(boxes[:, :4], boxes[:, 4])


def count_looks(answer: Detections, size_hw: tuple[int, int]) -> int:
    """Return how often a detector that always finds the same is asked."""
    sides: list[int] = []

    def yolo(_: object, settings: Settings) -> tuple[list[Detections], list[Letterbox]]:
        sides.append(settings.detector_side_px)
        return [answer], [Letterbox(net, 1.0, (0, 0))]

    net = np.zeros((1, *size_hw, 3), np.uint8)
    search(net[0], yolo, Settings())
    return len(sides)


NONE = detections()
WIDE = (100.0, 100.0, 400.0, 200.0, 0.9)


@pytest.mark.parametrize(
    ("answer", "is_repeated"),
    [
        pytest.param(NONE, True, id="nothing found"),
        pytest.param(detections((0, 0, 40, 10, 0.69)), True, id="nothing sure"),
        pytest.param(detections((0, 0, 40, 10, 0.71), (0, 40, 40, 50, 0.4)), False, id="one sure"),
    ],
)
def test_a_picture_without_a_sure_detection_may_be_a_close_up(
    answer: Detections, is_repeated: bool
) -> None:
    assert count_looks(answer, (736, 960)) == 1 + is_repeated


@pytest.mark.parametrize(
    ("size_hw", "is_repeated"),
    [
        pytest.param((96, 128), False, id="as large"),
        pytest.param((96, 160), True, id="wider"),
        pytest.param((160, 96), True, id="higher"),
    ],
)
def test_a_letterbox_as_small_as_that_for_close_ups_is_no_other_look(size_hw, is_repeated) -> None:
    assert count_looks(NONE, size_hw) == 1 + is_repeated


def test_wide_boxes_with_a_high_score_are_close_ups() -> None:
    answer = detections(WIDE, (0, 0, 299, 90, 0.9), (0, 0, 300, 90, 0.5), (0, 0, 400, 90, 0.49))
    close_ups = keep_close_ups(answer, 1000)
    assert close_ups.xyxy.tolist() == [list(WIDE[:4]), [0, 0, 300, 90]]
    assert close_ups.scores.tolist() == pytest.approx([0.9, 0.5])
    assert len(answer.scores) == 4


def test_no_detections_have_no_close_ups_and_no_parts() -> None:
    assert len(keep_close_ups(NONE, 1000).scores) == 0
    assert len(drop_parts(NONE, detections(WIDE)).scores) == 0


@pytest.mark.parametrize(
    ("box", "stays"),
    [
        pytest.param((300, 120, 390, 190), False, id="inside"),
        pytest.param((71, 120, 171, 190), False, id="71 % inside"),
        pytest.param((69, 120, 169, 190), True, id="69 % inside"),
        pytest.param((500, 120, 590, 190), True, id="beside"),
    ],
)
def test_detections_inside_a_close_up_are_its_parts(box, stays: bool) -> None:
    remainder = drop_parts(detections((*box, 0.6)), detections(WIDE))
    assert len(remainder.scores) == stays


def test_a_detection_that_is_surer_than_the_close_up_around_it_stays() -> None:
    plate, grille = (200.0, 150.0, 280.0, 170.0, 0.65), (100.0, 100.0, 400.0, 200.0, 0.6)
    assert len(drop_parts(detections(plate), detections(grille)).scores) == 1


def test_without_a_close_up_every_detection_stays() -> None:
    answer = detections(WIDE, (0, 0, 40, 10, 0.4))
    assert np.array_equal(drop_parts(answer, NONE).xyxy, answer.xyxy)


Xyxy = tuple[float, float, float, float]
BOX = np.array([300.0, 100.0, 360.0, 140.0])
GREEN = torch.tensor([0, 255, 0], dtype=torch.uint8)


def boxes_of(*boxes: tuple[float, ...]) -> np.ndarray:
    return np.array(boxes, np.float32).reshape(-1, 4)


@pytest.mark.parametrize(
    ("box", "origin_xy", "scale"),
    [
        pytest.param((300.0, 100.0, 360.0, 140.0), (240, 30), 1.6, id="enlarged"),
        pytest.param((200.0, 100.0, 392.0, 180.0), (8, -148), 0.5, id="scaled down"),
        pytest.param((10.0, 20.0, 70.0, 60.0), (-50, -50), 1.6, id="at the top left"),
        pytest.param((600.0, 450.0, 640.0, 480.0), (560, 405), 2.4, id="at the bottom right"),
    ],
)
def test_a_box_lies_in_the_middle_of_a_net_that_always_has_one_size(
    box: Xyxy, origin_xy: tuple[int, int], scale: float
) -> None:
    whole = picture()
    x0, y0, x1, y1 = map(int, box)
    whole[y0:y1, x0:x1] = GREEN
    surroundings = surroundings_of(whole, box)
    assert surroundings.net.shape == (1, NEARBY_SIDE_PX, NEARBY_SIDE_PX, 3)
    assert surroundings.scale == pytest.approx(scale)
    assert surroundings.to_source(np.zeros((1, 4)))[0, :2].tolist() == pytest.approx(origin_xy)
    rows, columns = np.nonzero((surroundings.net[0] == GREEN).all(-1).numpy())
    green_box = boxes_of((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    assert surroundings.to_source(green_box)[0].tolist() == pytest.approx(box, abs=2 / scale)


def test_what_lies_outside_the_picture_is_grey() -> None:
    net = surroundings_of(picture(), (10.0, 20.0, 70.0, 60.0)).net[0]
    assert (net[:, :80] == PAD_GREY).all()
    assert (net[:80] == PAD_GREY).all()
    assert (net[80:, 80:] == 90).all()


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((639.2, 100.0, 639.9, 100.3), id="less than a pixel, at the edge"),
        pytest.param((0.0, 0.0, 640.0, 480.0), id="the whole picture"),
        pytest.param((0.0, 479.0, 640.0, 480.0), id="a line at the bottom"),
    ],
)
def test_any_box_has_surroundings(box: Xyxy) -> None:
    surroundings = surroundings_of(picture(), box)
    assert (surroundings.net == 90).any()
    assert (surroundings.net >= 90).all()


def test_the_box_that_overlaps_most_is_the_same_plate() -> None:
    same = find_same(boxes_of((300, 100, 340, 130), (302, 98, 364, 140), (240, 40, 280, 60)), BOX)
    assert same is not None
    assert same.tolist() == [302, 98, 364, 140]


@pytest.mark.parametrize(
    "boxes",
    [
        pytest.param(boxes_of(), id="nothing"),
        pytest.param(boxes_of((340, 100, 400, 140)), id="beside it"),
        pytest.param(boxes_of((300, 100, 317, 140)), id="a part of it"),
    ],
)
def test_another_box_is_no_plate_of_this_one(boxes: np.ndarray) -> None:
    assert find_same(boxes, BOX) is None


def test_a_box_with_just_enough_in_common_is_the_same() -> None:
    same: np.ndarray | None = find_same(boxes_of((300, 100, 319, 140)), BOX)
    assert same is not None
