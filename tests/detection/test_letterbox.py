"""Letterboxes of pictures of any size, and the way back to the pictures' pixels."""

import numpy as np
import pytest
import torch
from torch import Tensor

from orchestrator.detection.letterbox import letterbox, resize_by_opencv, resize_by_pytorch


def noise(height: int, width: int) -> Tensor:
    generator = torch.Generator().manual_seed(height)
    return torch.randint(256, (height, width, 3), generator=generator).byte()


@pytest.mark.parametrize(
    ("size_hw", "scale", "net_hw", "inner_hw", "offset_xy"),
    [
        pytest.param((33, 50), 1.0, (64, 64), (33, 50), (7, 15), id="smaller"),
        pytest.param((64, 96), 1.0, (64, 96), (64, 96), (0, 0), id="as large"),
        pytest.param((300, 125), 0.32, (96, 64), (96, 40), (12, 0), id="tall"),
        pytest.param((99, 192), 0.5, (64, 96), (50, 96), (0, 7), id="wide"),
        pytest.param((1, 1000), 0.096, (32, 96), (1, 96), (0, 15), id="a line across"),
        pytest.param((1000, 1), 0.096, (96, 32), (96, 1), (15, 0), id="a line down"),
    ],
)
def test_a_picture_lies_in_the_middle_of_grey(
    size_hw, scale: float, net_hw, inner_hw, offset_xy
) -> None:
    box = letterbox(torch.full((*size_hw, 3), 10, dtype=torch.uint8), 96)
    expected_net = torch.full((1, *net_hw, 3), 114, dtype=torch.uint8)
    left, top = offset_xy
    expected_net[:, top : top + inner_hw[0], left : left + inner_hw[1]] = 10
    assert torch.equal(box.net, expected_net)
    assert (box.scale, box.offset_xy) == (scale, offset_xy)


def test_a_picture_that_is_not_shrunk_keeps_its_pixels() -> None:
    picture = noise(33, 50)
    net = letterbox(picture, 64).net
    assert torch.equal(net[0, 15:48, 7:57], picture)
    net.zero_()
    assert torch.equal(picture, noise(33, 50))


def test_boxes_are_mapped_to_the_net_and_back() -> None:
    box = letterbox(torch.zeros(99, 192, 3, dtype=torch.uint8), 96)  # halved, 7 rows of grey above
    picture, net = np.array([[10.0, 20, 30, 44]]), np.array([[5.0, 17, 15, 29]])
    assert np.array_equal(box.to_net(picture), net)
    assert np.array_equal(box.to_source(net), picture)


@pytest.mark.parametrize(
    ("size_hw", "trimmed_hw", "offset_xy"),
    [
        pytest.param((72, 96), (80, 96), (0, 4), id="12 rows above"),
        pytest.param((64, 96), (64, 96), (0, 0), id="no padding"),
        pytest.param((96, 67), (96, 80), (6, 0), id="14 columns beside"),
        pytest.param((90, 96), (96, 96), (0, 3), id="too little to trim"),
    ],
)
def test_padding_is_trimmed_in_eights(size_hw, trimmed_hw, offset_xy) -> None:
    picture = noise(*size_hw)
    trimmed_box = letterbox(picture, 96).trim()
    left, top = offset_xy
    assert (trimmed_box.net.shape, trimmed_box.offset_xy) == ((1, *trimmed_hw, 3), offset_xy)
    assert torch.equal(
        trimmed_box.net[0, top : top + size_hw[0], left : left + size_hw[1]], picture
    )
    box = np.array([[5.0, 6, 50, 60]])
    assert np.array_equal(trimmed_box.to_source(trimmed_box.to_net(box)), box)


def test_no_column_of_a_picture_that_is_shrunk_is_skipped_but_the_last_of_an_odd_side() -> None:
    def brightness(column: int) -> int:
        picture = torch.zeros(40, 163, 3, dtype=torch.uint8)
        picture[:, column] = 255
        return int(letterbox(picture, 64).net[0, 8:24].sum())

    assert min(map(brightness, range(162))) > 0


def test_pixels_keep_their_places_when_a_picture_is_shrunk() -> None:
    height, width = 210, 163
    across, down = torch.arange(width).expand(height, width), torch.arange(height)[:, None]
    picture = torch.stack((across, down.expand(height, width), across), dim=2).byte()
    box = letterbox(picture, 64)
    wide = round(width * box.scale)
    pixels = box.net[0, :, box.offset_xy[0] : box.offset_xy[0] + wide].float()
    assert (pixels[:, :, 0] - (torch.arange(wide) + 0.5) / box.scale + 0.5).abs().max() < 3
    assert (pixels[:, :, 1].T - (torch.arange(64) + 0.5) / box.scale + 0.5).abs().max() < 3


@pytest.mark.parametrize("size_hw", [(541, 961), (1081, 1921), (770, 1283)])
def test_a_picture_of_odd_sides_is_the_same_on_a_gpu(
    size_hw: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = noise(*size_hw)
    of_cpu = letterbox(picture, 320).net.int()
    monkeypatch.setattr("orchestrator.detection.letterbox.resize_by_opencv", resize_by_pytorch)
    of_gpu = letterbox(picture, 320).net.int()
    assert (of_cpu - of_gpu).abs().max() <= 2


@pytest.mark.parametrize(
    ("picture_hw", "small_hw", "mode"),
    [
        pytest.param((48, 82), (24, 41), "area", id="halved"),
        pytest.param((47, 81), (40, 59), "bilinear", id="odd"),
        pytest.param((50, 33), (49, 17), "bilinear", id="tall"),
    ],
)
def test_a_gpu_shrinks_as_the_cpu_does(picture_hw, small_hw, mode: str) -> None:
    picture = noise(*picture_hw)
    of_cpu, of_gpu = (torch.empty((*small_hw, 3), dtype=torch.uint8) for _ in range(2))
    resize_by_opencv(picture, of_cpu, mode)
    resize_by_pytorch(picture, of_gpu, mode)
    assert (of_cpu.int() - of_gpu.int()).abs().max() <= 1
