"""The NumPy resizing of crops agrees with PyTorch's."""

import tracemalloc

import numpy as np
import pytest
import torch

from orchestrator.reading import torch_crops
from orchestrator.reading.bicubic import MAX_CACHED_PX, weigh
from orchestrator.reading.crops import normalize_crops, resize_crop

SIZES_HW = [
    pytest.param((1, 1), id="one pixel"),
    pytest.param((24, 94), id="the reader's size"),
    pytest.param((9, 40), id="enlarged"),
    pytest.param((40, 150), id="seven taps"),
    pytest.param((61, 60), id="enlarged and reduced"),
    pytest.param((130, 640), id="near"),
    pytest.param((3, MAX_CACHED_PX + 1), id="long row"),
]


def draw(size_hw: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 256, (*size_hw, 3)).astype(np.uint8)


@pytest.mark.parametrize("size_hw", SIZES_HW)
def test_a_crop_is_resized_as_pytorch_does(size_hw: tuple[int, int]) -> None:
    crop = draw(size_hw)
    wanted = torch_crops.normalize_crops(torch_crops.resize_crop(torch.from_numpy(crop)))
    assert np.allclose(normalize_crops(resize_crop(crop)), wanted.numpy(), rtol=0, atol=2e-6)


@pytest.mark.parametrize("size_hw", [(5000, 7), (1, 200_000), (200_000, 1), (5000, 5000)])
def test_a_huge_crop_is_nearly_the_same_and_needs_little_memory(size_hw: tuple[int, int]) -> None:
    crop = draw(size_hw)
    wanted = torch_crops.resize_crop(torch.from_numpy(crop)).numpy()
    tracemalloc.start()
    resized = resize_crop(crop)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.abs(resized - wanted).max() < 3
    assert most_bytes < 300e6


def test_a_view_of_a_picture_is_resized_like_its_copy() -> None:
    view = draw((60, 200))[10:50, 20:170]
    assert np.array_equal(resize_crop(view), resize_crop(view.copy()))


def test_the_weights_of_each_pixel_add_up_to_one() -> None:
    weights = weigh(40, 24)
    assert weights.shape == (24, 40)
    assert weights.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-6)
