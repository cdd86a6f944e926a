"""Tensors of a call: texts behind their lengths, numbers, and their conversion to arrays."""

import numpy as np
import pytest

from orchestrator.errors import ModelError, RequestError
from orchestrator.serving.protocol.arrays import CODES, DTYPES, pack, to_arrays
from orchestrator.serving.protocol.bytes_tensors import decode, encode
from orchestrator.serving.protocol.inference import Tensor


@pytest.mark.parametrize(
    ("datatype", "data", "array"),
    [
        ("BYTES", b"", np.empty((0, 1), np.object_)),
        ("BYTES", b"\x02\0\0\0AB\x01\0\0\0\xff", np.array([[b"AB"], [b"\xff"]], np.object_)),
        ("FP32", b"\0\0\x80\x3f\0\0\0\x40", np.array([[1.0, 2.0]], np.float32)),
        ("UINT8", bytes(range(6)), np.arange(6, dtype=np.uint8).reshape(1, 2, 3)),
    ],
)
def test_a_tensor_becomes_an_array(datatype: str, data: bytes, array: np.ndarray) -> None:
    arrays = to_arrays([Tensor("any", datatype, array.shape, data)])
    np.testing.assert_array_equal(arrays["any"], array)
    assert arrays["any"].dtype == array.dtype


@pytest.mark.parametrize(
    ("datatype", "shape", "data"),
    [
        pytest.param("BF16", (1,), b"\0\0", id="type"),
        pytest.param("FP32", (2,), b"\0\0\0\0", id="too few bytes"),
        pytest.param("FP32", (1,), b"\0\0\0", id="part of a number"),
        pytest.param("BYTES", (1,), b"\x02\0\0\0A", id="text cut off"),
        pytest.param("BYTES", (1,), b"\x02\0", id="length cut off"),
        pytest.param("BYTES", (2,), b"\0\0\0\0", id="too few texts"),
    ],
)
def test_a_damaged_tensor_is_the_models_failure(
    datatype: str, shape: tuple[int, ...], data: bytes
) -> None:
    with pytest.raises(ModelError, match=r"^(answer: wanted a|a: wanted) "):
        to_arrays([Tensor("a", datatype, shape, data)])


@pytest.mark.parametrize("datatype", CODES)
def test_numbers_are_packed_as_their_type_says(datatype: str) -> None:
    values = [True, False] if datatype == "BOOL" else [1, 0]
    assert pack("x", datatype, values) == np.array(values, DTYPES[datatype]).tobytes()


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        ("UINT8", 256),
        ("UINT8", -1),
        ("UINT64", -1),
        ("UINT64", 2**70),
        ("INT8", -129),
        ("INT64", 2**63),
        ("UINT8", True),
        ("UINT8", None),
        ("INT32", 1.0),
        ("FP64", 10**400),
        ("FP32", "1"),
        ("BOOL", 1),
        ("BYTES", 1),
    ],
)
def test_a_value_that_does_not_fit_is_refused(datatype: str, value: object) -> None:
    with pytest.raises(RequestError, match=f"^x: wanted data that fits {datatype}, got other"):
        pack("x", datatype, [value])


def test_an_element_stands_behind_its_length() -> None:
    data = encode([b"AB", b"", b"C" * 256])
    assert data == b"\x02\0\0\0AB" + b"\0\0\0\0" + b"\0\x01\0\0" + b"C" * 256
    assert decode(Tensor("texts", "BYTES", (3, 1), data)) == [b"AB", b"", b"C" * 256]
    assert pack("x", "BYTES", ["AB", b""]) == data[:10]


@pytest.mark.parametrize(
    ("shape", "data", "message"),
    [
        pytest.param((1,), b"", "wanted 1 elements by its shape, got 0", id="none"),
        pytest.param((1,), b"\x01\0", "got one that ends 3 bytes after", id="part of a length"),
        pytest.param((1,), b"\x05\0\0\0AB", "got one that ends 3 bytes after", id="too long"),
        pytest.param((1,), b"\xff\xd8\xff\xe0AB", "whose length .* is missing", id="a bare JPEG"),
        pytest.param((1,), b"\xff\xff\xff\xffAB", "ends 4294967293 bytes after", id="4 GiB"),
        pytest.param((1,), b"\x01\0\0\0AB", "got one that ends 69 bytes after", id="a rest"),
        pytest.param((2,), b"\x01\0\0\0A", "wanted 2 elements by its shape, got 1", id="fewer"),
        pytest.param((2,), bytes(4) * 9999, "wanted 2 elements by its shape, got more", id="more"),
        pytest.param((0,), bytes(4), "wanted 0 elements by its shape, got more", id="not empty"),
    ],
)
def test_elements_fill_the_data_as_the_shape_says(
    shape: tuple[int, ...], data: bytes, message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        decode(Tensor("texts", "BYTES", shape, data))
