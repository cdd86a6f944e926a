"""The sampling of tilted plates on a CPU, and the removal of their blur, agree with PyTorch's."""

import numpy as np
import pytest
import torch

from orchestrator.reading.affine_crops import compose, cut_frame, frames_of
from orchestrator.reading.deblurring import Motion, deconvolve, find_motions
from orchestrator.reading.sampling import sample

UPRIGHT = np.eye(2, 3, dtype=np.float32)


def draw(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3)).astype(np.uint8)


def blur(picture: np.ndarray, length: int) -> np.ndarray:
    copies = [np.roll(picture, shift, axis=1).astype(np.float32) for shift in range(length)]
    return np.mean(copies, axis=0).astype(np.uint8)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_a_picture_sampled_at_its_own_pixels_is_unchanged(mode) -> None:
    assert np.array_equal(sample(draw(9, 13), UPRIGHT, (9, 13), mode), draw(9, 13))


def test_outside_the_picture_its_edge_is_repeated() -> None:
    theta = UPRIGHT + np.array([[0, 0, 4], [0, 0, 0]], np.float32)
    assert np.array_equal(sample(draw(5, 8), theta, (5, 8))[:, 0], draw(5, 8)[:, -1])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("picture_hw", [(1, 1), (2, 3), (40, 130)])
@pytest.mark.parametrize("size_hw", [(24, 94), (61, 203)])
def test_a_picture_is_sampled_nearly_as_pytorch_does(mode, picture_hw, size_hw) -> None:
    picture = blur(draw(*picture_hw), 3)
    theta = np.array([[0.9, -0.2, 0.1], [0.15, 1.1, -0.3]], np.float32)
    reference = sample(torch.from_numpy(picture), theta, size_hw, mode).numpy()
    difference = np.abs(sample(picture, theta, size_hw, mode).astype(int) - reference)
    assert difference.mean() < 0.5
    assert difference.max() <= 4


def test_a_picture_that_is_too_long_for_opencv_is_sampled_all_the_same() -> None:
    row = np.linspace(0, 255, 40_000).astype(np.uint8)
    picture = np.tile(row[None, :, None], (3, 1, 3))
    expected_row = (np.arange(94) + 0.5) / 94 * 255
    assert np.abs(sample(picture, UPRIGHT, (3, 94))[1, :, 0] - expected_row).max() < 2


def test_an_edge_between_pixels_overshoots_in_bicubic_sampling() -> None:
    # Keys' kernel at half a pixel: weights of -3/32, 19/32, 19/32 and -3/32.
    row = np.repeat(np.array([40, 40, 40, 200, 200, 200], np.uint8)[None, :, None], 3, axis=2)
    half = UPRIGHT + np.array([[0, 0, 1 / 6], [0, 0, 0]], np.float32)
    assert sample(row, half, (1, 6), "bicubic")[0, :, 0].tolist() == [40, 25, 120, 215, 200, 200]


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("box", [(20, 30, 60, 43), (20, 30, 140, 70)], ids=["small", "large"])
def test_a_plate_is_cut_as_pytorch_does(box, lines: int) -> None:
    (frame,) = compose(frames_of([box]), UPRIGHT[None] * np.float32(0.9))
    picture = blur(draw(90, 160), 3)
    reference = cut_frame(torch.from_numpy(picture), frame, lines).numpy()
    assert np.allclose(cut_frame(picture, frame, lines), reference, atol=6 / 128)


def test_a_motion_is_found_and_removed_as_pytorch_does() -> None:
    strip = blur(draw(40, 150), 9)
    motions = find_motions(torch.from_numpy(strip))
    assert motions
    assert find_motions(strip) == motions
    reference = deconvolve(torch.from_numpy(strip), Motion(9.0, 1.0)).numpy().astype(int)
    assert np.abs(deconvolve(strip, Motion(9.0, 1.0)).astype(int) - reference).max() <= 1
