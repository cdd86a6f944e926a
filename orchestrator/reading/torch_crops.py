"""Resizes and normalizes crops with PyTorch: on a GPU, in TorchScript and in training."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor

from orchestrator.reading.sizes import MAX_ON_GPU_HW, READER_SIZE_WH, TALLEST_PX


def resize_crop(
    crop: Tensor, size_wh: tuple[int, int] = READER_SIZE_WH, tallest_px: int = TALLEST_PX
) -> Tensor:
    """Resize a crop, uint8 [H, W, 3], to the reader's size: float32 [1, 3, 24, 94].

    TorchScript can compile it, like `normalize_crops`: the ensemble `plate_reader` runs the same
    code.
    """
    width, height = size_wh
    planes = crop.permute(2, 0, 1)[None].float()
    if planes.is_cuda:
        planes = halve_large(planes)
    if planes.shape[2] > tallest_px:
        planes = F.interpolate(planes, (height, planes.shape[3]), mode="bicubic", antialias=True)
    return F.interpolate(planes, (height, width), mode="bicubic", antialias=True)


def halve_large(planes: Tensor, most_hw: tuple[int, int] = MAX_ON_GPU_HW) -> Tensor:
    """Halve planes [1, 3, H, W] by means until they are at most so high and wide.

    TorchScript can compile it.
    """
    while planes.shape[2] > most_hw[0]:
        planes = F.avg_pool2d(planes, (2, 1))
    while planes.shape[3] > most_hw[1]:
        planes = F.avg_pool2d(planes, (1, 2))
    return planes


def normalize_crops(crops: Tensor) -> Tensor:
    """Turn float32 [N, 3, 24, 94] BGR in about [0, 255] into RGB, (x - 127.5) / 128."""
    return crops.flip(1).clamp_(0, 255).sub_(127.5).div_(128)
