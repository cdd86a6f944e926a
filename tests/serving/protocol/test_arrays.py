import numpy as np
import pytest

from orchestrator.errors import ModelError, RequestError
from orchestrator.serving.protocol.arrays import CODES, DTYPES, pack, to_arrays, to_tensor
from orchestrator.serving.protocol.inference import Tensor


def test_texts_without_rows_keep_their_shape() -> None:
    assert to_arrays([Tensor("texts", "BYTES", (0, 1), b"")])["texts"].shape == (0, 1)


def test_a_text_stands_behind_its_length() -> None:
    tensor = to_tensor("texts", np.array([[b"AB"], [b""]], np.object_))
    assert tensor == Tensor("texts", "BYTES", (2, 1), b"\x02\0\0\0AB\0\0\0\0")


def test_numbers_are_little_endian() -> None:
    tensor = to_tensor("scores", np.array([[1.0]], np.float32))
    assert tensor == Tensor("scores", "FP32", (1, 1), b"\0\0\x80\x3f")


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([[b"AB"], [b"\xff"]], np.object_), id="texts"),
        pytest.param(np.arange(6, dtype=np.float32).reshape(2, 3), id="FP32"),
        pytest.param(np.arange(6, dtype=np.uint8).reshape(1, 2, 3), id="UINT8"),
    ],
)
def test_an_array_comes_back(array: np.ndarray) -> None:
    np.testing.assert_array_equal(to_arrays([to_tensor("any", array)])["any"], array)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(Tensor("a", "BF16", (1,), b"\0\0"), id="type"),
        pytest.param(Tensor("a", "FP32", (2,), b"\0\0\0\0"), id="too few bytes"),
        pytest.param(Tensor("a", "FP32", (1,), b"\0\0\0"), id="part of a number"),
        pytest.param(Tensor("a", "BYTES", (1,), b"\x02\0\0\0A"), id="text cut off"),
        pytest.param(Tensor("a", "BYTES", (1,), b"\x02\0"), id="length cut off"),
        pytest.param(Tensor("a", "BYTES", (2,), b"\0\0\0\0"), id="too few texts"),
    ],
)
def test_a_damaged_tensor_is_the_models_failure(tensor: Tensor) -> None:
    with pytest.raises(ModelError, match=r"^(answer: wanted a|a: wanted) "):
        to_arrays([tensor])


@pytest.mark.parametrize("datatype", CODES)
def test_numbers_are_packed_as_their_type_says(datatype: str) -> None:
    values = [True, False] if datatype == "BOOL" else [1, 0]
    assert pack("x", datatype, values) == np.array(values, DTYPES[datatype]).tobytes()


def test_texts_are_packed_behind_their_lengths() -> None:
    assert pack("x", "BYTES", ["AB", b""]) == b"\x02\0\0\0AB\0\0\0\0"


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        ("UINT8", 256),
        ("UINT64", -1),
        ("INT8", -129),
        ("INT64", 2**63),
        ("UINT8", True),
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
