"""Samples the pixels of a picture along an affine map, on a CPU or a GPU.

`sample` is bilinear. `enlarge` is bicubic, for plates of few pixels.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array

Floats = npt.NDArray[np.float32]


def sample(picture: Array, theta: Array, size_hw: tuple[int, int]) -> Array:
    """Sample a picture; outside it, its outermost pixels are repeated.

    Args:
        picture: uint8 [H, W, 3].
        theta: float32 [2, 3], from the sampled picture to the given one; both reach from -1 to 1,
            from edge to edge, x first.
        size_hw: Height and width of the sampled picture.

    Returns:
        uint8 [height, width, 3].

    Source: PyTorch, `torch.nn.functional.grid_sample` with `align_corners=False`.
    """
    if isinstance(picture, np.ndarray):
        return _sample_by_numpy(picture, theta, size_hw)
    return _sample_by_pytorch(picture, theta, size_hw)


def enlarge(picture: Array, theta: Array, size_hw: tuple[int, int]) -> Array:
    """Sample a picture like `sample`, but bicubic: between its pixels it stays sharper.

    Sources: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing"; PyTorch,
    `torch.nn.functional.grid_sample` with `mode="bicubic"`.
    """
    if isinstance(picture, np.ndarray):
        return _enlarge_by_opencv(picture, theta, size_hw)
    return _sample_by_pytorch(picture, theta, size_hw, "bicubic")


def _enlarge_by_opencv(picture: Array, theta: Floats, size_hw: tuple[int, int]) -> Array:
    """Sample with OpenCV. It rounds places to 1/32 of a pixel, which changes values by up to 2."""
    height, width = picture.shape[:2]
    x, y = _map_centres(theta, size_hw)
    enlarged: Array = cv2.remap(
        picture,
        _to_pixels(x, width),
        _to_pixels(y, height),
        cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return enlarged


def _sample_by_numpy(picture: Array, theta: Floats, size_hw: tuple[int, int]) -> Array:
    x, y = _map_centres(theta, size_hw)
    height, width = picture.shape[:2]
    (left, x_share), (top, y_share) = _locate(x, width), _locate(y, height)
    near = (top * width + left).ravel()
    pixels = picture.reshape(-1, 3) if picture.flags.c_contiguous else picture.copy().reshape(-1, 3)
    one = np.float32(1)
    sampled = np.zeros((near.size, 3), np.float32)
    for shift, share in (
        (0, (one - x_share) * (one - y_share)),
        (1, x_share * (one - y_share)),
        (width, (one - x_share) * y_share),
        (width + 1, x_share * y_share),
    ):
        at = np.minimum(near + shift, len(pixels) - 1)  # beyond the edge the share is 0
        sampled = (pixels[at] * share.reshape(-1, 1).astype(np.float64) + sampled).astype(
            np.float32
        )
    rounded: Array = sampled.round().astype(np.uint8).reshape(*size_hw, 3)
    return rounded


def _map_centres(theta: Floats, size_hw: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the places x and y from -1 to 1 that a map gives the sampled pixels, [h, w] each."""
    down, right = (_centres(size) for size in size_hw)
    (x_by_x, x_by_y, x_at), (y_by_x, y_by_y, y_at) = theta
    x = right * x_by_x + (down * x_by_y)[:, None] + x_at
    y = right * y_by_x + (down * y_by_y)[:, None] + y_at
    return x, y


def _centres(size: int) -> Floats:
    """Return the places of the pixels' centres from -1 to 1, rounded as PyTorch rounds them."""
    step, index = float(np.float32(2) / np.float32(max(size - 1, 1))), np.arange(size)
    edges = np.where(index < size // 2, index * step - 1, 1 - (size - 1 - index) * step)
    centres: Floats = edges.astype(np.float32) * np.float32(size - 1) / np.float32(size)
    return centres


def _locate(place: Floats, size: int) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the pixel before each place from -1 to 1, and the share of the pixel after it."""
    pixels = np.clip(_to_pixels(place, size), 0, size - 1)
    before = np.floor(pixels)
    return before.astype(np.intp), pixels - before


def _to_pixels(place: Floats, size: int) -> Floats:
    """Turn places from -1 to 1 along a row of pixels into pixels."""
    exact = (place + 1).astype(np.float64) * size / 2 - 0.5
    return exact.astype(np.float32)


def _sample_by_pytorch(
    picture: Array, theta: Array, size_hw: tuple[int, int], mode: str = "bilinear"
) -> Array:
    import torch
    import torch.nn.functional as F  # noqa: N812 - the name everybody knows

    maps = torch.from_numpy(theta[None]).to(picture.device, torch.float32)
    grid = F.affine_grid(maps, [1, 3, *size_hw], align_corners=False)
    planes = picture.permute(2, 0, 1)[None].float()
    sampled = F.grid_sample(planes, grid, mode=mode, padding_mode="border", align_corners=False)
    return sampled[0].permute(1, 2, 0).round_().clamp_(0, 255).byte()
