"""The angle by which a plate is turned, found without reading it, and its frame at that angle."""

from dataclasses import dataclass

import cv2
import numpy as np
import pytest
import torch

from orchestrator.arrays import Array
from orchestrator.reading.affine_crops import corners_of
from orchestrator.reading.skew import RATIOS, find_skew, frames_inside

SIZE_WH = (200, 130)


def plate_of_two_lines(degrees: float) -> tuple[Array, tuple[int, int]]:
    """Draw a plate that is turned clockwise, on grey; return its box's pixels and their size."""
    ground = np.full((400, 400, 3), 128, np.uint8)
    left, top = (200 - side // 2 for side in SIZE_WH)
    cv2.rectangle(ground, (left, top), (left + SIZE_WH[0], top + SIZE_WH[1]), (240,) * 3, -1)
    for line, text in enumerate(("A123", "BC 77")):
        at = left + 20, top + 55 + 60 * line
        cv2.putText(ground, text, at, cv2.FONT_HERSHEY_SIMPLEX, 1.9, (20,) * 3, 5)
    turn = cv2.getRotationMatrix2D((200, 200), -degrees, 1)
    turned_ground = cv2.warpAffine(ground, turn, (400, 400), borderValue=(128,) * 3)
    radians = np.deg2rad(abs(degrees))
    (wide, high), (cosine, sine) = SIZE_WH, (np.cos(radians), np.sin(radians))
    width, height = round(wide * cosine + high * sine), round(wide * sine + high * cosine)
    x0, y0 = 200 - width // 2, 200 - height // 2
    return turned_ground[y0 : y0 + height, x0 : x0 + width], (width, height)


@pytest.mark.parametrize("degrees", [-34, -20, -9, 0, 7, 15, 28])
@pytest.mark.parametrize("library", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_the_angle_of_a_plate_is_found(library, degrees: int) -> None:
    crop, size_wh = plate_of_two_lines(degrees)
    assert find_skew(library(np.ascontiguousarray(crop)), size_wh) == pytest.approx(degrees, abs=2)


def test_the_resolution_of_the_crop_does_not_matter() -> None:
    crop, size_wh = plate_of_two_lines(20)
    pressed = cv2.resize(crop, (150, 40), interpolation=cv2.INTER_AREA)
    assert find_skew(pressed, size_wh) == pytest.approx(20, abs=4)


@pytest.mark.parametrize(
    "crop",
    [
        pytest.param(np.full((60, 90, 3), 77, np.uint8), id="one colour"),
        pytest.param(np.random.default_rng(0).integers(256, size=(60, 90, 3)), id="noise"),
        pytest.param(np.zeros((1, 1, 3)), id="one pixel"),
    ],
)
def test_without_lines_of_text_there_is_no_angle(crop) -> None:
    assert find_skew(crop.astype(np.uint8), crop.shape[1::-1]) is None


def test_a_high_and_narrow_crop_is_no_harder() -> None:
    assert find_skew(np.zeros((4000, 10, 3), np.uint8), (10, 4000)) is None


@dataclass(frozen=True)
class Shape:
    """The bounds, middle, angle and size of a frame."""

    bounds: tuple[float, ...]
    middle: tuple[float, ...]
    degrees: float
    size_wh: tuple[float, float]


def measure(frame: np.ndarray) -> Shape:
    """Measure a frame, and check that its corners are right angles."""
    corners = corners_of(frame[None])[0].astype(float)
    edge, side = corners[1] - corners[0], corners[3] - corners[0]
    assert float(edge @ side) == pytest.approx(0, abs=1e-2)
    return Shape(
        (*corners.min(0).tolist(), *corners.max(0).tolist()),
        tuple(corners.mean(0).tolist()),
        float(np.rad2deg(np.arctan2(edge[1], edge[0]))),
        (float(np.linalg.norm(edge)), float(np.linalg.norm(side))),
    )


@pytest.mark.parametrize("degrees", [-12.0, 0.0, 7.0])
def test_a_plate_that_is_turned_a_little_fills_its_box(degrees: float) -> None:
    (frame,) = frames_inside(np.float32([[50.0, 0, 150], [0, 40, 112]]), degrees)
    shape = measure(frame)
    assert shape.bounds == pytest.approx((100, 72, 200, 152), abs=1e-3)
    assert shape.degrees == pytest.approx(degrees, abs=1e-3)


@pytest.mark.parametrize("degrees", [-30.0, 14.0])
def test_a_plate_that_is_turned_far_is_as_wide_as_its_box_and_of_a_usual_shape(
    degrees: float,
) -> None:
    frames = frames_inside(np.float32([[50.0, 0, 150], [0, 40, 112]]), degrees)
    for frame, ratio in zip(frames, RATIOS, strict=True):
        shape = measure(frame)
        assert shape.bounds[::2] == pytest.approx((100, 200), abs=1e-3)
        assert shape.middle == pytest.approx((150, 112), abs=1e-3)
        assert shape.degrees == pytest.approx(degrees, abs=1e-3)
        assert shape.size_wh[0] / shape.size_wh[1] == pytest.approx(ratio)


def test_a_box_that_no_plate_at_its_angle_fills_still_has_a_frame() -> None:
    (frame,) = frames_inside(np.float32([[10.0, 0, 150], [0, 80, 112]]), 12.0)
    width, height = measure(frame).size_wh
    assert width == pytest.approx(10)
    assert 80 < height < 180
