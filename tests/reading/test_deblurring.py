"""Motion blur of plates: found, removed, and no plate changed where there is none."""

import cv2
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from orchestrator.imaging.files import Bgr
from orchestrator.reading.deblurring import Motion, deconvolve, find_motions
from workshop.rendering.country import russia


@pytest.fixture(scope="module")
def sharp() -> Bgr:
    plate = russia().plate_of("A123BC77").picture
    small = cv2.resize(plate, (180, 39), interpolation=cv2.INTER_AREA)
    return cv2.copyMakeBorder(small, 8, 8, 11, 11, cv2.BORDER_CONSTANT, value=(90, 80, 70))


def line(length: int, angle: float) -> NDArray[np.float32]:
    """Return the kernel of a motion; the angle is in degrees, downwards."""
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    middle = ((length - 1) / 2, (length - 1) / 2)
    turned_kernel = cv2.warpAffine(
        kernel, cv2.getRotationMatrix2D(middle, -angle, 1), (length, length)
    )
    return turned_kernel / turned_kernel.sum()


def smear(picture: Bgr, length: int, angle: float = 0.0) -> Tensor:
    rng = np.random.default_rng(0)
    blurred_picture = cv2.filter2D(picture, -1, line(length, angle)) + rng.normal(
        0, 1, picture.shape
    )
    return torch.from_numpy(blurred_picture.round().clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("length", [7, 9, 15, 21])
def test_the_length_of_a_motion_along_the_plate_is_found(sharp: Bgr, length: int) -> None:
    motions = find_motions(smear(sharp, length))
    assert motions[0].x == pytest.approx(length, abs=1)
    assert motions[0].y == 0


@pytest.mark.parametrize("angle", [-30, -20, 20, 40])
def test_the_direction_of_another_motion_is_found(sharp: Bgr, angle: int) -> None:
    motion = find_motions(smear(sharp, 13, angle))[-1]
    assert np.hypot(*motion) == pytest.approx(13, abs=2)
    assert np.rad2deg(np.arctan2(motion.y, motion.x)) == pytest.approx(angle, abs=10)


@pytest.mark.parametrize(
    "strip",
    [
        pytest.param(np.full((40, 180, 3), 128, np.uint8), id="one colour"),
        pytest.param(np.zeros((1, 180, 3), np.uint8), id="one row"),
        pytest.param(np.zeros((40, 9, 3), np.uint8), id="few columns"),
    ],
)
def test_no_motion_is_found_where_none_can_be_seen(strip: Bgr) -> None:
    assert find_motions(torch.from_numpy(strip)) == []


@pytest.mark.parametrize(("length", "angle"), [(9, 0), (15, 0), (13, 30)])
def test_a_plate_without_its_blur_is_like_the_sharp_one(
    sharp: Bgr, length: int, angle: float
) -> None:
    blurred_plate = smear(sharp, length, angle)
    radians = np.deg2rad(angle)
    motion = Motion(length * np.cos(radians), length * np.sin(radians))
    sharpened_plate = deconvolve(blurred_plate, motion).numpy()
    assert cv2.PSNR(sharpened_plate, sharp) > cv2.PSNR(blurred_plate.numpy(), sharp) + 2
    assert sharpened_plate.mean() == pytest.approx(blurred_plate.float().mean().item(), abs=2)


def test_a_picture_of_one_colour_keeps_it() -> None:
    strip = torch.full((24, 94, 3), 200, dtype=torch.uint8)
    assert torch.equal(deconvolve(strip, Motion(9, 3)), strip)
