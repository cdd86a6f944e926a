"""Tensors of a call as NumPy arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.contract import Array
from orchestrator.errors import ModelError
from orchestrator.gateway import elements
from orchestrator.gateway.calls import Tensor

BYTES = "BYTES"
DTYPES = {"UINT8": "u1", "FP32": "<f4"}
"""Of the models that callers reach, texts apart."""
DATATYPES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def to_tensor(name: str, array: npt.NDArray[Any]) -> Tensor:
    """Return an array as a tensor; one of objects holds bytes."""
    if array.dtype == np.object_:
        return Tensor(name, BYTES, array.shape, elements.encode(array.flat))
    return Tensor(name, DATATYPES[array.dtype], array.shape, array.tobytes())


def to_array(tensor: Tensor) -> Array:
    """Return a tensor that a model answered as an array, texts as objects that are bytes.

    Raises:
        ModelError: Its type is not known here, or its bytes are not what its shape says.
    """
    if tensor.datatype == BYTES:
        texts = elements.decode(tensor, ModelError)
        return np.array(texts, np.object_).reshape(tensor.shape)
    try:
        return np.frombuffer(tensor.data, DTYPES[tensor.datatype]).reshape(tensor.shape)
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"answer: wanted {tensor.name} as {', '.join([BYTES, *DTYPES])} that fills its shape, "
            f"got {tensor.datatype} {list(tensor.shape)} in {len(tensor.data)} bytes"
        ) from error
