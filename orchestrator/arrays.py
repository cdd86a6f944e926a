"""Arrays of NumPy and of PyTorch: the pipeline's code takes both.

On a CPU the service works on NumPy's arrays. PyTorch would cost each process 130 MB, and each small
operation some microseconds more. On a GPU the arrays are PyTorch's tensors. Functions that take
both use only what has the same name and meaning in both libraries.

Source: Python array API standard, "Use cases: adding support for GPUs".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy or a tensor of PyTorch. mypy knows no common type of both."""

Tensors = Mapping[str, Array]
Infer = Callable[[str, Tensors], Tensors]
"""Runs the named network: `infer("yolo", {"input__0": net})["output__0"]`.

It may have an attribute `formats`, the plate formats of its weights (see `load_networks`). It may
have a method `lap` (see `Stopwatch`), which is called with the name of each stage that ends
without a network.
"""


def namespace(array: Array) -> Any:
    """Return the library of an array: the module `numpy` or `torch`."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def floats_like(array: Array, numbers: Any) -> Array:
    """Return numbers as float32, in the library of an array, in memory of the CPU."""
    xp = namespace(array)
    return xp.asarray(numbers, dtype=xp.float32)


def floats_beside(array: Array, numbers: Any) -> Array:
    """Return numbers as float32, in the library and on the device of an array."""
    floats = floats_like(array, numbers)
    return floats if isinstance(array, np.ndarray) else floats.to(array.device)


def as_floats(array: Array) -> Array:
    """Return an array's numbers as float32."""
    return array.astype(np.float32) if isinstance(array, np.ndarray) else array.float()


def empty_floats(array: Array, shape: Sequence[int]) -> Array:
    """Return float32 numbers of any value, in the library and on the device of an array."""
    if isinstance(array, np.ndarray):
        return np.empty(shape, np.float32)
    return array.new_empty(shape, dtype=namespace(array).float32)


def empty_like(array: Array, shape: Sequence[int]) -> Array:
    """Return an array of any values, of the type and on the device of another."""
    return np.empty(shape, array.dtype) if isinstance(array, np.ndarray) else array.new_empty(shape)


def to_numpy(array: Array) -> Any:
    """Return an array of NumPy; it is copied only from a GPU."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()
