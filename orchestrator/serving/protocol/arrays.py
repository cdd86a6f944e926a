"""Conversion of tensors to NumPy arrays and of numbers to tensors, and the types of tensors."""

from __future__ import annotations

import reprlib
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from orchestrator.contract import Array
from orchestrator.errors import ModelError, RequestError
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.inference import Tensor

BYTES = "BYTES"
DTYPES = {
    "BOOL": "?",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}
"""KServe's types that NumPy has, except texts."""
SIZES = {"BF16": 2, **{name: np.dtype(dtype).itemsize for name, dtype in DTYPES.items()}}
"""Bytes of an element, for every type except BYTES."""
CODES = dict(zip((name for name in DTYPES if name != "FP16"), "BBHIQbhiqfd", strict=True))
"""Types whose elements may come as numbers, with their type codes of `array.array`."""


def to_arrays(tensors: Iterable[Tensor]) -> dict[str, Array]:
    """Return output tensors as arrays, by their names. Texts become arrays of bytes objects.

    Raises:
        ModelError: A type is not known, or the number of bytes does not fit the shape.
    """
    arrays: dict[str, Array] = {}
    for tensor in tensors:
        if tensor.datatype == BYTES:
            texts = bytes_tensors.decode(tensor, ModelError)
            arrays[tensor.name] = np.array(texts, np.object_).reshape(tensor.shape)
            continue
        try:
            numbers = np.frombuffer(tensor.data, DTYPES[tensor.datatype])
            arrays[tensor.name] = numbers.reshape(tensor.shape)
        except (KeyError, ValueError) as error:
            raise ModelError(
                f"answer: wanted {tensor.name} as {', '.join([BYTES, *DTYPES])} that fills its "
                f"shape, got {tensor.datatype} {list(tensor.shape)} in {len(tensor.data)} bytes"
            ) from error
    return arrays


def pack(label: str, datatype: str, values: Sequence[Any]) -> bytes:
    """Convert numbers or texts to the data of a tensor.

    Args:
        label: Name of the tensor in messages.
        datatype: KServe's name of the type.
        values: Python numbers, `bool`, `str` or `bytes`, row-major.

    Raises:
        RequestError: A value is not of the type, or does not fit into it.
    """
    kinds = {*map(type, values)}
    if datatype == BYTES and kinds <= {str, bytes}:
        return bytes_tensors.encode(
            value.encode() if isinstance(value, str) else value for value in values
        )
    if datatype not in {*CODES, BYTES}:
        datatypes = " or ".join([", ".join(CODES), BYTES])
        raise RequestError(f"{label}: wanted {datatypes}, got {reprlib.repr(datatype)}")
    if datatype in CODES and kinds <= _kinds_of(datatype):
        with suppress(OverflowError):  # a value is out of range
            return array(CODES[datatype], values).tobytes()
    raise RequestError(f"{label}: wanted data that fits {datatype}, got other values")


def _kinds_of(datatype: str) -> set[type]:
    if datatype == "BOOL":
        return {bool}
    return {int, float} if datatype.startswith("FP") else {int}
