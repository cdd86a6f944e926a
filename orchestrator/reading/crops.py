"""Crops of plates, cut out of the full-size picture for STN and LPRNet."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor

from orchestrator.detection.boxes import clip, grow

READER_SIZE_WH = (94, 24)
TALLEST_PX = 4096
"""Greatest height of a crop that is resized to the reader's size in one step. PyTorch first widens
each row to 94 pixels: a crop of 1x1,000,000 took 1.1 GB and 19 s."""
MOST_ON_A_GPU_HW = (512, 2048)
"""Greatest height and width of a crop that is resized to the reader's size on a GPU. PyTorch's
kernel keeps the weights of a row and a column in the GPU's shared memory, of which there are 48 KiB
in a block, and fails on crops some four times as high."""
MARGIN_XY = (0.08, 0.25)  # a box may be too tight; STN finds plates in wide crops


def crop_plates(
    picture: Tensor,
    xyxy: Tensor,
    margin_xy: tuple[float, float] = MARGIN_XY,
    *,
    lines: int = 1,
) -> Tensor:
    """Cut plates out of the full-size picture for STN and LPRNet.

    Each box is grown by the margin, because detectors give tight boxes, and clipped to the picture.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: float32 [N, 4] picture pixels.
        margin_xy: Growth at each side as a fraction of the box's width and height.
        lines: Lines of the plates; plates of 2 lines are unfolded to one row of characters.

    Returns:
        float32 [N, 3, 24, 94] RGB, (x - 127.5) / 128, on the picture's device.
    """
    width, height = READER_SIZE_WH
    crops = picture.new_empty((len(xyxy), 3, height, width), dtype=torch.float32)
    for crop, (x0, y0, x1, y1) in zip(crops, crop_boxes(picture, xyxy, margin_xy), strict=True):
        cut = picture[y0:y1, x0:x1]
        crop.copy_(resize_crop(cut if lines == 1 else unfold(cut))[0])
    return normalize_crops(crops)


def unfold(crop: Tensor) -> Tensor:
    """Put the upper half of a crop left of its lower half: [H, W, 3] becomes [(H + 1) // 2, 2W, 3].

    If the number of rows is odd, the middle row is in both halves.
    """
    height = len(crop)
    return torch.cat((crop[: (height + 1) // 2], crop[height // 2 :]), dim=1)


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


def halve_large(planes: Tensor, most_hw: tuple[int, int] = MOST_ON_A_GPU_HW) -> Tensor:
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


def crop_boxes(
    picture: Tensor, xyxy: Tensor, margin_xy: tuple[float, float] = MARGIN_XY
) -> list[tuple[int, int, int, int]]:
    """Return the whole-pixel boxes, at least one pixel each way, that `crop_plates` cuts out."""
    height, width = picture.shape[:2]
    boxes = clip(grow(xyxy.cpu(), margin_xy), (width, height)).round().int().tolist()
    corners = ((min(x0, width - 1), min(y0, height - 1), x1, y1) for x0, y0, x1, y1 in boxes)
    return [(x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)) for x0, y0, x1, y1 in corners]
