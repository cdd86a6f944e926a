"""A closer look: the surroundings of a box, and the choice of its plate among the detections."""

import numpy as np
import pytest
import torch

from orchestrator.detection.letterbox import PAD_GREY
from orchestrator.detection.nearby import NEARBY_SIDE_PX, find_same, surroundings_of
from tests.scripted_networks import picture

Xyxy = tuple[float, float, float, float]
BOX = np.array([300.0, 100.0, 360.0, 140.0])
GREEN = torch.tensor([0, 255, 0], dtype=torch.uint8)


def found(*boxes: tuple[float, ...]) -> np.ndarray:
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
    there = surroundings_of(whole, box)
    assert there.net.shape == (1, NEARBY_SIDE_PX, NEARBY_SIDE_PX, 3)
    assert there.scale == pytest.approx(scale)
    assert there.to_source(np.zeros((1, 4)))[0, :2].tolist() == pytest.approx(origin_xy)
    rows, columns = np.nonzero((there.net[0] == GREEN).all(-1).numpy())
    seen = found((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    assert there.to_source(seen)[0].tolist() == pytest.approx(box, abs=2 / scale)


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
    there = surroundings_of(picture(), box)
    assert (there.net == 90).any()
    assert (there.net >= 90).all()


def test_the_box_that_overlaps_most_is_the_same_plate() -> None:
    same = find_same(found((300, 100, 340, 130), (302, 98, 364, 140), (240, 40, 280, 60)), BOX)
    assert same is not None
    assert same.tolist() == [302, 98, 364, 140]


@pytest.mark.parametrize(
    "boxes",
    [
        pytest.param(found(), id="nothing"),
        pytest.param(found((340, 100, 400, 140)), id="beside it"),
        pytest.param(found((300, 100, 317, 140)), id="a part of it"),
    ],
)
def test_another_box_is_no_plate_of_this_one(boxes: np.ndarray) -> None:
    assert find_same(boxes, BOX) is None


def test_a_box_with_just_enough_in_common_is_the_same() -> None:
    same: np.ndarray | None = find_same(found((300, 100, 319, 140)), BOX)
    assert same is not None
