"""A closer look: the surroundings of a box, and its plate among what is found there."""

import pytest
import torch
from torch import Tensor

from orchestrator.detection.nearby import find_same, surroundings_of
from orchestrator.detection.postprocessing import Detections

BOX = torch.tensor([300.0, 100.0, 360.0, 140.0])


@pytest.mark.parametrize(
    ("box", "wanted"),
    [
        pytest.param((300.0, 100.0, 360.0, 140.0), (240, 40, 420, 200), id="inside"),
        pytest.param((10.0, 20.0, 70.0, 60.0), (0, 0, 130, 120), id="at the top left"),
        pytest.param((600.0, 450.0, 640.0, 480.0), (560, 410, 640, 480), id="at the bottom right"),
    ],
)
def test_surroundings_have_the_width_of_the_box_as_room(
    box: tuple[float, float, float, float], wanted: tuple[int, int, int, int]
) -> None:
    assert surroundings_of(box, (640, 480)) == wanted


def found(*boxes: tuple[float, ...]) -> Detections:
    return Detections(torch.tensor(boxes).reshape(-1, 4), torch.full((len(boxes),), 0.5))


def test_the_box_that_overlaps_most_is_the_same_plate() -> None:
    there = found((60, 60, 100, 90), (62, 58, 124, 100), (0, 0, 40, 20))
    same = find_same(there, BOX, (240, 40))
    assert same is not None
    assert same.tolist() == [302, 98, 364, 140]


@pytest.mark.parametrize(
    "boxes",
    [
        pytest.param(found(), id="nothing"),
        pytest.param(found((100, 60, 160, 100)), id="beside it"),
        pytest.param(found((60, 60, 77, 100)), id="a part of it"),
    ],
)
def test_another_box_is_no_plate_of_this_one(boxes: Detections) -> None:
    assert find_same(boxes, BOX, (240, 40)) is None


def test_a_box_with_just_enough_in_common_is_the_same() -> None:
    same: Tensor | None = find_same(found((60, 60, 79, 100)), BOX, (240, 40))
    assert same is not None
