"""Bicubic resizing with antialiasing in NumPy, bit for bit as PyTorch does it on a CPU.

The reader was trained on crops that PyTorch resized, and its 8-bit layers turn the last bit of a
crop into a hundredth of a score. OpenCV has no bicubic resizing with antialiasing, and importing
PyTorch costs a worker 130 MB. PyTorch's compiled loop adds the products of a pixel in order. It
rounds the products of the first tap and of whole groups of four taps; the products of the taps that
are left are added without being rounded (fused multiply-add).

Sources: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing"; PyTorch,
`aten/src/ATen/native/cpu/UpSampleKernel.cpp`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
CUBIC = np.float32(-0.5)
"""Parameter of the cubic kernel; Keys' own choice."""
REACH = 2.0
"""Reach of the kernel to each side, pixels of the smaller of both rows."""
GROUP = 4
"""Taps in a group, each of whose products is rounded."""
MAX_CACHED_PX = 1024
"""Longest row whose steps are kept. Plates are smaller; the steps of a long row take megabytes."""


class Taps(NamedTuple):
    """Steps of a row's resizing: each adds one source pixel to every resized pixel.

    Attributes:
        rounded: Source pixels [wanted] and weights [wanted, 1] of products that are rounded.
        fused: The same of products that are added without being rounded.
    """

    rounded: tuple[tuple[npt.NDArray[np.intp], Floats], ...]
    fused: tuple[tuple[npt.NDArray[np.intp], Doubles], ...]


def resize(picture: npt.NDArray[np.uint8], size_hw: tuple[int, int]) -> Floats:
    """Resize a picture [H, W, 3] to planes, float32 [3, height, width]."""
    height, width = size_hw
    given: Array = cv2.transpose(picture)  # several times as quick as NumPy's copy
    columns: Array = cv2.transpose(resize_first(given.astype(np.float32), width))
    return resize_first(columns, height).transpose(2, 0, 1)


def resize_first(pixels: Floats, wanted: int) -> Floats:
    """Resize the first axis of [N, M, 3] to a number of pixels."""
    if len(pixels) == wanted:
        return pixels
    flat = pixels.reshape(len(pixels), -1)
    make = recall if len(pixels) <= MAX_CACHED_PX else plan
    taps = make(len(pixels), wanted)
    resized = np.zeros((wanted, flat.shape[1]), np.float32)
    product, exact = np.empty_like(resized), np.empty(resized.shape)
    for places, weights in taps.rounded:
        flat.take(places, axis=0, out=product, mode="clip")
        product *= weights
        resized += product
    for places, exact_weights in taps.fused:
        exact[:] = flat.take(places, axis=0, out=product, mode="clip")
        exact *= exact_weights
        exact += resized
        resized[:] = exact
    return resized.reshape(wanted, *pixels.shape[1:])


def plan(given: int, wanted: int) -> Taps:
    """Return the steps in which a row of given pixels becomes one of wanted pixels."""
    first, count, weights = weigh(given, wanted)
    grouped = 1 + (count - 1) // GROUP * GROUP
    taps = np.arange(weights.shape[1])
    rounded = [_step(first, weights, np.where(tap < grouped, tap, -1), given) for tap in taps]
    left = [np.where(grouped + tap < count, grouped + tap, -1) for tap in range(GROUP - 1)]
    fused = [_step(first, weights, tap, given) for tap in left]
    return Taps(
        tuple((places, some) for places, some in rounded if some.any()),
        tuple((places, some.astype(np.float64)) for places, some in fused if some.any()),
    )


@lru_cache(maxsize=256)
def recall(given: int, wanted: int) -> Taps:
    """Return the steps as `plan` does; those of the last sizes are kept, some 15 kB each."""
    return plan(given, wanted)


def _step(
    first: npt.NDArray[np.intp], weights: Floats, tap: npt.NDArray[np.intp], given: int
) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the source pixels of a tap and their weights; a tap of -1 has the weight 0."""
    chosen = weights[np.arange(len(weights)), tap] * (tap >= 0)
    return np.clip(first + tap, 0, given - 1), chosen[:, None]


def weigh(given: int, wanted: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Return the first source pixel, the number of taps and the weights of each resized pixel.

    Each step has the precision that it has in PyTorch.
    """
    scale = np.float32(given) / np.float32(wanted)
    stretch = max(float(scale), 1.0)
    reach, shrink = np.float32(REACH * stretch), float(np.float32(1 / stretch))
    centre = (float(scale) * (np.arange(wanted) + 0.5)).astype(np.float32)
    first = np.maximum(((centre - reach).astype(np.float64) + 0.5).astype(np.intp), 0)
    end = np.minimum(((centre + reach).astype(np.float64) + 0.5).astype(np.intp), given)
    tap, count = np.arange(int((end - first).max())), end - first
    offset = (first[:, None] + tap).astype(np.float32) - centre[:, None]
    weights = _cubic(((offset.astype(np.float64) + 0.5) * shrink).astype(np.float32))
    weights[tap >= count[:, None]] = 0
    total = np.cumsum(weights, axis=1, dtype=np.float32)[:, -1:]
    return first, count, weights / total


def _cubic(distance: Floats) -> Floats:
    """Return Keys' kernel at distances in pixels, by Horner's rule with fused multiply-adds."""
    x, a = np.abs(distance), CUBIC
    near = _fused((_fused(x, a + 2, -(a + 3)) * x), x, 1)
    far = _fused(_fused(_fused(x, a, -5 * a), x, 8 * a), x, -4 * a)
    return np.where(x < 1, near, np.where(x < 2, far, np.float32(0)))


def _fused(first: Floats, second: Floats | np.float32, added: float | np.float32) -> Floats:
    """Return first * second + added, rounded once."""
    return (first.astype(np.float64) * second + float(added)).astype(np.float32)
