"""Bicubic resizing with antialiasing in NumPy, as PyTorch does it on a CPU.

The reader was trained on crops that PyTorch resized. OpenCV has no bicubic resizing with
antialiasing, and importing PyTorch costs a worker 130 MB. Each axis is resized by multiplying
bands of a matrix of weights. NumPy does this faster than it adds the weighted neighbours of each
pixel.

Sources: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing"; PyTorch,
`aten/src/ATen/native/cpu/UpSampleKernel.cpp`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
CUBIC = -0.5
"""Parameter of the cubic kernel; Keys' own choice."""
REACH = 2.0
"""Reach of the kernel to each side, pixels of the smaller of both rows."""
BAND_PX = 16
"""Longest part of a row that is resized by one product. Shorter ones cost more calls."""
MAX_CACHED_PX = 1024
"""Longest row whose weights are kept. Plates are smaller; the weights of a long row take
megabytes."""


Bands = tuple[tuple[slice, slice, Floats], ...]
"""Parts of a row of pixels: the pixels of each, the pixels that they come from, and the weights."""


def resize(picture: npt.NDArray[np.uint8], size_hw: tuple[int, int]) -> Floats:
    """Resize a picture [H, W, 3] to planes, float32 [3, height, width]."""
    (high, wide, channels), (height, width) = picture.shape, size_hw
    pixels = picture.reshape(high, -1).astype(np.float32)
    rows = np.empty((height, wide * channels), np.float32)
    for part, near, weights in (recall if high <= MAX_CACHED_PX else divide)(high, height):
        np.matmul(weights, pixels[near], out=rows[part])
    planes = rows.reshape(height, wide, channels).transpose(2, 0, 1).reshape(-1, wide)
    resized_planes = np.empty((len(planes), width), np.float32)
    for part, near, weights in (recall if wide <= MAX_CACHED_PX else divide)(wide, width):
        np.matmul(planes[:, near], weights.T, out=resized_planes[:, part])
    return resized_planes.reshape(channels, height, width)


def divide(length: int, new_length: int) -> Bands:
    """Return the weights by which a row of pixels is resized, in bands.

    A pixel comes from its surroundings, so nearly all weights of the whole row are 0.
    """
    weights, bands = weigh(length, new_length), []
    for pixels in np.array_split(np.arange(new_length), -(-new_length // BAND_PX)):
        part = slice(int(pixels[0]), int(pixels[-1]) + 1)
        (columns,) = weights[part].any(axis=0).nonzero()
        near = slice(int(columns[0]), int(columns[-1]) + 1)
        bands.append((part, near, np.ascontiguousarray(weights[part, near])))
    return tuple(bands)


recall = lru_cache(maxsize=128)(divide)
"""Returns the bands as `divide` does. Those of the last sizes are kept, some 10 kB each."""


def weigh(length: int, new_length: int) -> Floats:
    """Return the weights [wanted, given] by which a row of pixels is resized.

    Each step has the precision that it has in PyTorch.
    """
    scale = np.float32(length) / np.float32(new_length)
    stretch = np.maximum(scale, np.float32(1))
    centre = (np.arange(new_length) + 0.5).astype(np.float32)[:, None] * scale
    low, high = centre - REACH * stretch + 0.5, centre + REACH * stretch + 0.5
    pixels = np.arange(length)
    is_near = (np.floor(low) <= pixels) & (pixels < np.floor(high))
    kernel = np.where(is_near, _cubic((pixels - centre + 0.5) / stretch), 0)
    weights: Floats = kernel.astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _cubic(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return Keys' kernel at distances in pixels."""
    x, a = abs(distance), CUBIC
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))
