"""Codec for elements of a BYTES tensor. Each follows its length: 4 bytes, little-endian."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.errors import PlateError, RequestError

if TYPE_CHECKING:
    from orchestrator.serving.protocol.inference import Input

PREFIX = 4
FILES = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF", b"BM")
"""First bytes of JPEG, PNG, WebP and BMP files."""


def encode(elements: Iterable[bytes]) -> bytes:
    """Return elements as the data of a BYTES tensor."""
    return b"".join(len(element).to_bytes(PREFIX, "little") + element for element in elements)


def decode(tensor: Input, error: type[PlateError] = RequestError) -> list[bytes]:
    """Return the elements of a BYTES tensor, as many as its shape says.

    Args:
        tensor: Tensor of a request or an answer.
        error: Class of the error to raise.

    Raises:
        error: There are more or fewer elements, or they do not fill the data exactly.
    """
    elements: list[bytes] = []
    begin, data, count = 0, tensor.data, math.prod(tensor.shape)
    while begin < len(data) and len(elements) <= count:
        end = begin + PREFIX + int.from_bytes(data[begin : begin + PREFIX], "little")
        if end > len(data):
            raise error(
                f"{tensor.name}: wanted elements behind their lengths in 4 bytes, "
                f"got one that ends {end - len(data)} bytes after the data{_hint(data)}"
            )
        elements.append(data[begin + PREFIX : end])
        begin = end
    if len(elements) != count:
        actual = len(elements) if len(elements) < count else "more"
        raise error(f"{tensor.name}: wanted {count} elements by its shape, got {actual}")
    return elements


def _hint(data: bytes) -> str:
    """Return the end of a message about a file that is sent without its length."""
    if not data.startswith(FILES):
        return ""
    return "; the data begin with a picture's file, whose length in little-endian order is missing"
