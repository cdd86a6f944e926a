import pytest

from orchestrator.errors import ModelError, RequestError
from orchestrator.serving.protocol.bytes_tensors import decode, encode
from orchestrator.serving.protocol.inference import Tensor


def tensor(shape: tuple[int, ...], data: bytes) -> Tensor:
    return Tensor("texts", "BYTES", shape, data)


def test_no_elements_are_no_bytes() -> None:
    assert encode([]) == b""
    assert decode(tensor((0, 1), b"")) == []


def test_an_element_stands_behind_its_length() -> None:
    data = encode([b"AB", b"", b"C" * 256])
    assert data == b"\x02\0\0\0AB" + b"\0\0\0\0" + b"\0\x01\0\0" + b"C" * 256
    assert decode(tensor((3, 1), data)) == [b"AB", b"", b"C" * 256]


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
def test_elements_fill_the_data_as_the_shape_says(shape, data: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        decode(tensor(shape, data))


def test_a_models_elements_are_the_models_fault() -> None:
    with pytest.raises(ModelError, match="texts: wanted 1 elements"):
        decode(tensor((1,), b""), ModelError)
