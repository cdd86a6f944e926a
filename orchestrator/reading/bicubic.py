"""Bicubic resizing with antialiasing in NumPy, as PyTorch does it on a CPU.

The reader was trained on crops that PyTorch resized. OpenCV has no bicubic resizing with
antialiasing, and importing PyTorch costs a worker 130 MB. Each axis is resized by the product with
a matrix of weights, which NumPy multiplies faster than it adds few taps of each pixel.

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
MAX_CACHED_PX = 1024
"""Longest row whose weights are kept. Plates are smaller; those of a long row take megabytes."""


def resize(picture: npt.NDArray[np.uint8], size_hw: tuple[int, int]) -> Floats:
    """Resize a picture [H, W, 3] to planes, float32 [3, height, width]."""
    (_, wide, channels), (height, width) = picture.shape, size_hw
    rows = resize_first(picture, height)
    planes = rows.transpose(2, 0, 1).reshape(-1, wide)  # a product wants rows without gaps
    return (planes @ weights_of(wide, width).T).reshape(channels, height, width)


def resize_first(pixels: npt.NDArray[np.uint8], wanted: int) -> Floats:
    """Resize the first axis of [N, M, 3] to a number of pixels, as float32."""
    given, *rest = pixels.shape
    floats = pixels.reshape(given, -1).astype(np.float32)
    return (weights_of(given, wanted) @ floats).reshape(wanted, *rest)


def weights_of(given: int, wanted: int) -> Floats:
    """Return the weights [wanted, given] by which a row of pixels is resized."""
    return (recall if given <= MAX_CACHED_PX else weigh)(given, wanted)


def weigh(given: int, wanted: int) -> Floats:
    """Compute the weights of `weights_of`. Each step has the precision that it has in PyTorch."""
    scale = np.float32(given) / np.float32(wanted)
    stretch = np.maximum(scale, np.float32(1))
    centre = (np.arange(wanted) + 0.5).astype(np.float32)[:, None] * scale
    low, high = centre - REACH * stretch + 0.5, centre + REACH * stretch + 0.5
    at = np.arange(given)
    is_near = (np.floor(low) <= at) & (at < np.floor(high))
    weights: Floats = np.where(is_near, _cubic((at - centre + 0.5) / stretch), 0).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


recall = lru_cache(maxsize=128)(weigh)
"""Returns the weights as `weigh` does. Those of the last sizes are kept, some 30 kB each."""


def _cubic(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return Keys' kernel at distances in pixels."""
    x, a = abs(distance), CUBIC
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))
