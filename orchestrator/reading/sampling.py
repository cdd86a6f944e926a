"""Samples the pixels of a picture along an affine map: by OpenCV on a CPU, by PyTorch on a GPU."""

from __future__ import annotations

import cv2
import numpy as np

from orchestrator.arrays import Array

MAX_WARPED_PX = 16_384
"""Largest side of a picture that OpenCV samples along a map; it takes less than 32,768."""
FLAGS = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
"""OpenCV's names of PyTorch's modes."""


def sample(picture: Array, theta: Array, size_hw: tuple[int, int], mode: str = "bilinear") -> Array:
    """Sample a picture; outside it, its outermost pixels are repeated.

    OpenCV rounds places to 1/32 of a pixel. PyTorch does not, so its values differ a little.

    Args:
        picture: uint8 [H, W, 3].
        theta: float32 [2, 3], from the sampled picture to the given one; both reach from -1 to 1,
            from edge to edge, x first.
        size_hw: Height and width of the sampled picture.
        mode: "bilinear"; or "bicubic", which stays sharper between few pixels.

    Returns:
        uint8 [height, width, 3].

    Source: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing".
    """
    if not isinstance(picture, np.ndarray):
        return _sample_by_pytorch(picture, theta, size_hw, mode)
    if max(picture.shape[:2]) > MAX_WARPED_PX:
        height, width = (min(side, MAX_WARPED_PX) for side in picture.shape[:2])
        picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    (height, width), (high, wide) = picture.shape[:2], size_hw
    matrix = [
        (
            x * side / wide,
            y * side / high,
            (x / wide - x + y / high - y + offset + 1) * side / 2 - 0.5,
        )
        for (x, y, offset), side in zip(theta.tolist(), (width, height), strict=True)
    ]
    sampled: Array = cv2.warpAffine(
        picture,
        np.array(matrix),
        (wide, high),
        flags=FLAGS[mode] | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return sampled


def _sample_by_pytorch(picture: Array, theta: Array, size_hw: tuple[int, int], mode: str) -> Array:
    import torch
    import torch.nn.functional as F  # noqa: N812 - the name everybody knows

    maps = torch.from_numpy(theta[None]).to(picture.device, torch.float32)
    grid = F.affine_grid(maps, [1, 3, *size_hw], align_corners=False)
    planes = picture.permute(2, 0, 1)[None].float()
    sampled = F.grid_sample(planes, grid, mode=mode, padding_mode="border", align_corners=False)
    return sampled[0].permute(1, 2, 0).round_().clamp_(0, 255).byte()
