"""Crops of plates: their pixels in the picture, and the form in which the networks take them."""

import tracemalloc

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows

from orchestrator.reading import torch_crops
from orchestrator.reading.bicubic import MAX_CACHED_PX, weigh
from orchestrator.reading.crops import crop_boxes, crop_plates, normalize_crops, resize_crop, unfold
from orchestrator.reading.torch_crops import halve_large


@pytest.mark.parametrize(
    ("box", "crop_xyxy"),
    [
        pytest.param((10, 8, 20, 16), (9, 6, 21, 18), id="inside"),
        pytest.param((0, 0, 10, 8), (0, 0, 11, 10), id="top left"),
        pytest.param((30, 22, 40, 30), (29, 20, 40, 30), id="bottom right"),
        pytest.param((5, 6, 5, 6), (5, 6, 6, 7), id="empty"),
        pytest.param((40, 30, 40, 30), (39, 29, 40, 30), id="empty in the corner"),
    ],
)
def test_a_box_grows_within_the_picture_and_has_a_pixel(box, crop_xyxy) -> None:
    picture = torch.zeros(30, 40, 3, dtype=torch.uint8)
    assert crop_boxes(picture, np.array([box], np.float32), (0.1, 0.25)) == [crop_xyxy]


def test_each_plate_is_cut_from_its_own_place_as_rgb_about_zero() -> None:
    picture = torch.zeros(60, 200, 3, dtype=torch.uint8)
    picture[5:25, 10:80], picture[30:55, 120:190] = (
        torch.tensor([[0, 64, 255], [255, 0, 64]]).byte()[:, None].unbind(0)
    )
    boxes = np.float32([[120.0, 30, 190, 55], [10, 5, 80, 25]])
    second, first = crop_plates(picture, boxes, (0, 0))
    for crop, rgb in ((first, (255, 64, 0)), (second, (64, 0, 255))):
        colour = (torch.tensor(rgb)[:, None, None] - 127.5) / 128
        torch.testing.assert_close(crop, colour.expand(3, 24, 94), atol=1e-4, rtol=0)


@pytest.mark.parametrize("lines", [1, 2])
def test_no_boxes_give_no_crops_and_a_box_without_size_gives_one(lines: int) -> None:
    picture, boxes = torch.zeros(50, 100, 3, dtype=torch.uint8), np.float32([[30, 20, 30, 20]])
    assert crop_plates(picture, boxes[:0], lines=lines).shape == (0, 3, 24, 94)
    (crop,) = crop_plates(picture, boxes, lines=lines)
    assert crop.isfinite().all()


def test_the_lines_of_a_square_plate_come_one_after_the_other() -> None:
    picture = torch.zeros(48, 94, 3, dtype=torch.uint8)
    picture[:24, :, 2], picture[24:, :, 0] = 255, 255  # red above blue, in BGR
    crop = crop_plates(picture, np.float32([[0.0, 0, 94, 48]]), (0, 0), lines=2)[0] * 128 + 127.5
    left, right = crop[:, :, :46], crop[:, :, 48:]
    assert left.mean(dim=(1, 2)).tolist() == pytest.approx([255, 0, 0], abs=1)
    assert right.mean(dim=(1, 2)).tolist() == pytest.approx([0, 0, 255], abs=1)


@pytest.mark.parametrize(
    ("rows", "unfolded_rows"),
    [
        pytest.param([1, 2, 3, 4], [[1, 3], [2, 4]], id="even"),
        pytest.param([1, 2, 3], [[1, 2], [2, 3]], id="odd: the middle row is in both"),
        pytest.param([1], [[1, 1]], id="one row"),
    ],
)
def test_the_upper_half_of_a_crop_is_put_left_of_its_lower_half(rows, unfolded_rows) -> None:
    assert unfold(torch.tensor(rows).reshape(-1, 1, 1))[..., 0].tolist() == unfolded_rows


def test_a_crop_that_is_too_tall_is_shrunk_in_two_steps_to_nearly_the_same() -> None:
    generator = torch.Generator().manual_seed(2)
    crop = torch.randint(256, (60, 7, 3), generator=generator).byte()
    at_once = resize_crop(crop, tallest_px=60)
    assert torch.equal(at_once, resize_crop(crop, tallest_px=1000))
    in_steps = resize_crop(crop, tallest_px=59)
    assert in_steps.shape == (1, 3, 24, 94)
    assert not torch.equal(in_steps, at_once)
    torch.testing.assert_close(in_steps, at_once, atol=1.0, rtol=0)


@pytest.mark.parametrize(
    ("size_hw", "halved_hw"),
    [
        pytest.param((48, 376), (48, 376), id="as it is"),
        pytest.param((200, 100), (50, 100), id="tall"),
        pytest.param((24, 801), (24, 400), id="wide"),
        pytest.param((1, 4000), (1, 250), id="one row"),
    ],
)
def test_large_crops_are_halved_before_a_gpu_resizes_them(
    size_hw: tuple[int, int], halved_hw: tuple[int, int]
) -> None:
    rows, columns = torch.meshgrid(*(torch.linspace(0, 1, side) for side in size_hw), indexing="ij")
    planes = (100 * rows + 100 * columns).expand(1, 3, *size_hw)
    halved_planes = halve_large(planes, (50, 400))
    assert halved_planes.shape == (1, 3, *halved_hw)
    reference = F.interpolate(planes, (24, 94), mode="bicubic", antialias=True)
    resized_planes = F.interpolate(halved_planes, (24, 94), mode="bicubic", antialias=True)
    torch.testing.assert_close(resized_planes, reference, atol=1.0, rtol=0)


@pytest.mark.parametrize("tallest_px", [95, 96])
def test_no_pixel_of_a_large_crop_is_skipped(tallest_px: int) -> None:
    """One of four rows and columns is bright: their mean remains, wherever it is sampled."""
    rows, columns = torch.arange(96)[:, None], torch.arange(376)
    crop = (((rows % 4 == 0).int() + (columns % 4 == 0).int()) * 100).byte()
    small = resize_crop(crop[..., None].expand(96, 376, 3), tallest_px=tallest_px)
    inner = small[..., 3:-3, 3:-3]
    torch.testing.assert_close(inner, torch.full_like(inner, 50.0), atol=2, rtol=0)


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
    reference = torch_crops.normalize_crops(torch_crops.resize_crop(torch.from_numpy(crop)))
    assert np.allclose(normalize_crops(resize_crop(crop)), reference.numpy(), rtol=0, atol=2e-6)


@pytest.mark.parametrize("size_hw", [(5000, 7), (1, 200_000), (200_000, 1), (5000, 5000)])
def test_a_huge_crop_is_nearly_the_same_and_needs_little_memory(size_hw: tuple[int, int]) -> None:
    crop = draw(size_hw)
    reference = torch_crops.resize_crop(torch.from_numpy(crop)).numpy()
    tracemalloc.start()
    resized_crop = resize_crop(crop)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.abs(resized_crop - reference).max() < 3
    assert peak_bytes < 300e6


def test_a_view_of_a_picture_is_resized_like_its_copy() -> None:
    view = draw((60, 200))[10:50, 20:170]
    assert np.array_equal(resize_crop(view), resize_crop(view.copy()))


def test_the_weights_of_each_pixel_add_up_to_one() -> None:
    weights = weigh(40, 24)
    assert weights.shape == (24, 40)
    assert weights.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-6)
