"""Breaks a worker: it accesses memory that it does not have, takes more than there is, or hangs.

Workers import this file, so it imports none of ours.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIPELINE_PX, DETECTOR_PX = 48, 96
"""Heights of the pictures that break a worker of the pipeline, and one of the detector. These are
also the heights of such pictures in the detector's input: it shrinks and pads neither width."""
ACCESS_PX, MEMORY_PX = 224, 256
"""Widths of the pictures that cause a wrong access, and a lack of memory."""
LACK_S = 1.0
"""The time without memory in one worker, from the first such picture on."""
FREED_BYTES = 1 << 26
"""Large enough that PyTorch gets it from the driver alone, not as a part of something larger."""
CHUNK_BYTES = 1 << 28
TOO_MANY_BYTES = 1 << 50
"""No process can have as many addresses."""
MARKER_SHAPE = (48, 64, 3)
"""Shape of the picture that hangs the test model."""


def draw_marker() -> NDArray[np.uint8]:
    """Return the marker, (48, 64, 3) uint8: a pattern that no camera takes."""
    return (np.arange(np.prod(MARKER_SHAPE)) % 251).astype(np.uint8).reshape(MARKER_SHAPE)


def is_marker(bgr: NDArray[np.uint8]) -> bool:
    """Tell whether a picture is the marker."""
    return bgr.shape == MARKER_SHAPE and bool((bgr == draw_marker()).all())


class Breaker:
    """Breaks this worker at inputs of certain sizes."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._lack_ends: float | None = None

    def look(self, hw: tuple[int, int], device: Any) -> None:
        """Break this worker if its input has the size that asks for it.

        Args:
            hw: Height and width of the input.
            device: Device of the input in PyTorch; `cpu` also for an array of NumPy.
        """
        if hw == (self._height, ACCESS_PX):
            access_freed_memory(str(device))
        elif hw == (self._height, MEMORY_PX):
            self._lack_ends = self._lack_ends or time.monotonic() + LACK_S
            if time.monotonic() < self._lack_ends:
                take_all_memory(str(device))


def access_freed_memory(device: str) -> None:
    """Access memory that is not there; on a CPU the process ends by SIGSEGV."""
    if device == "cpu":
        ctypes.string_at(0)
    import torch

    tensor = torch.empty(FREED_BYTES, dtype=torch.uint8, device=device)
    ctypes.CDLL("libcuda.so.1").cuMemFree_v2(ctypes.c_uint64(tensor.data_ptr()))
    tensor.fill_(1)
    torch.cuda.synchronize()


def take_all_memory(device: str) -> None:
    """Take memory until there is no more; on a CPU ask once for too much."""
    if device == "cpu":
        np.empty(TOO_MANY_BYTES, np.uint8)
    import torch

    tensors = []
    while True:
        tensors.append(torch.empty(CHUNK_BYTES, dtype=torch.uint8, device=device))
