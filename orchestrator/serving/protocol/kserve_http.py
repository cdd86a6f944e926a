"""Codec of KServe v2 over HTTP, with Triton's binary tensor data: bodies, calls and answers.

Source: KServe "Open Inference Protocol v2"; Triton's extensions "binary tensor data", "parameters".
"""

from __future__ import annotations

import io
import math
import reprlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import orjson

from orchestrator.errors import ModelError, ParameterError, RequestError
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.arrays import DTYPES, pack
from orchestrator.serving.protocol.bounds import MAX_DIMENSIONS, check_bounds
from orchestrator.serving.protocol.inference import (
    InferenceRequest,
    InferenceResponse,
    Plain,
    Tensor,
)

JSON_SIZE = "Inference-Header-Content-Length"
BINARY_SIZE, BINARY, ALL_BINARY = "binary_data_size", "binary_data", "binary_data_output"
MAX_OCCURRENCES = {b"{": 1000, b'"': 10_000, b"[": 3_000_000}
"""Largest number of objects, quotation marks and lists in the JSON of a call. Each takes many times
its size in memory. A picture of 1920x1080 as nested lists has 2.1 million lists."""

MAX_JSON_HEAD_BYTES = 4096
"""Bytes in which JSON says that bytes of tensors follow it."""


@dataclass(frozen=True)
class HttpInferenceRequest:
    """A call, and the form in which its caller wants the outputs.

    Attributes:
        call: The call to answer.
        binary: By output name: True for bytes after the JSON, False for JSON.
        is_binary: The same, for outputs that are not named.
    """

    call: InferenceRequest
    binary: Mapping[str, bool] = field(default_factory=dict)
    is_binary: bool = False


def parse(
    model: str, version: str, body: bytes, json_size: int | None, trace: Mapping[str, str]
) -> HttpInferenceRequest:
    """Parse the body of an infer call. Anything unknown in it is an error.

    Args:
        model: Name of the model, from the path.
        version: Version of the model, from the path; empty for none.
        body: JSON, then the bytes of tensors.
        json_size: Bytes of the JSON. If None, the whole body is JSON.
        trace: W3C trace headers.

    Raises:
        RequestError: The body is no such call.
    """
    size = len(body) if json_size is None else json_size
    if not 0 <= size <= len(body):
        raise RequestError(f"{JSON_SIZE}: wanted 0 to {len(body)}, the body's size, got {size}")
    loaded = _load(body, size) if json_size is not None else _load_all(body)
    request = _members("request", loaded, ("id", "parameters", "inputs", "outputs"))
    outputs = [_output(one) for one in _list("outputs", request.get("outputs", []))]
    parameters = _parameters(request.get("parameters", {}))
    is_binary = _flag(ALL_BINARY, parameters.pop(ALL_BINARY, False))
    call = InferenceRequest(
        model=model,
        inputs=_inputs(request.get("inputs"), body, size),
        outputs=tuple(name for name, _ in outputs),
        version=version,
        id=_text("id", request.get("id", "")),
        parameters=parameters,
        trace=dict(trace),
    )
    forms = {name: form for name, form in outputs if form is not None}
    return HttpInferenceRequest(check_bounds(call), forms, is_binary)


def _load(body: bytes, size: int) -> Any:
    for sign, most in MAX_OCCURRENCES.items():
        count = body.count(sign, 0, size)
        if count > most:
            raise RequestError(f"JSON: wanted up to {most} {sign.decode()}, got {count}")
    try:
        return orjson.loads(memoryview(body)[:size])
    except orjson.JSONDecodeError as error:  # the error holds the whole text
        raise RequestError(f"JSON: {error.msg} at character {error.pos}") from None


def _load_all(body: bytes) -> Any:
    """Load a body that is all JSON. If bytes of tensors follow, tell that their header is missing.

    Without the header, those bytes would be told as damaged JSON.
    """
    try:
        return _load(body, len(body))
    except RequestError as error:
        if f'"{BINARY_SIZE}"'.encode() not in body[:MAX_JSON_HEAD_BYTES]:
            raise
        raise RequestError(
            f"{JSON_SIZE}: wanted this header with the size of the JSON, because bytes of tensors "
            "follow it, got none"
        ) from error


def _members(what: str, value: object, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"{what}: wanted an object, got {reprlib.repr(value)}")
    unknown = value.keys() - set(known)
    if unknown:
        raise RequestError(
            f"{what}: wanted some of {', '.join(known)}, got {reprlib.repr(min(unknown))}"
        )
    return value


def _list(what: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise RequestError(f"{what}: wanted a list, got {reprlib.repr(value)}")
    return value


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{what}: wanted a text, got {reprlib.repr(value)}")
    return value


def _flag(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{what}: wanted true or false, got {reprlib.repr(value)}")
    return value


def _size(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RequestError(f"{what}: wanted a whole number from 0, got {reprlib.repr(value)}")
    return value


def _parameters(value: object) -> dict[str, Plain]:
    if not isinstance(value, dict):
        raise ParameterError(f"parameters: wanted an object, got {reprlib.repr(value)}")
    for name, one in value.items():
        if not isinstance(one, Plain):
            raise ParameterError(
                f"{reprlib.repr(name)}: wanted a text, a number, true or false, "
                f"got {reprlib.repr(one)}"
            )
    return value


def _output(value: object) -> tuple[str, bool | None]:
    output = _members("output", value, ("name", "parameters"))
    name = _text("name of an output", output.get("name"))
    what = f"parameters of output {reprlib.repr(name)}"
    form = _members(what, output.get("parameters", {}), (BINARY,)).get(BINARY)
    return name, form if form is None else _flag(what, form)


def _inputs(values: object, body: bytes, json_size: int) -> tuple[Tensor, ...]:
    tail = io.BytesIO(body)  # shares the bytes
    tail.seek(json_size)
    inputs = tuple(_input(one, tail) for one in _list("inputs", values))
    if tail.tell() != len(body):
        raise RequestError(
            f"body: wanted {tail.tell()} bytes by {BINARY_SIZE} of the inputs, got {len(body)}"
        )
    return inputs


def _input(value: object, tail: io.BytesIO) -> Tensor:
    given = _members("input", value, ("name", "shape", "datatype", "parameters", "data"))
    name = _text("name of an input", given.get("name"))
    what = f"input {reprlib.repr(name)}"
    shape = tuple(_size(f"{what}: shape", one) for one in _list(what, given.get("shape")))
    if len(shape) > MAX_DIMENSIONS:
        raise RequestError(f"{what}: wanted up to {MAX_DIMENSIONS} dimensions, got {len(shape)}")
    datatype = _text(f"{what}: datatype", given.get("datatype"))
    parameters = _members(f"{what}: parameters", given.get("parameters", {}), (BINARY_SIZE,))
    if ("data" in given) == (BINARY_SIZE in parameters):
        raise RequestError(f"{what}: wanted exactly one of data and {BINARY_SIZE}")
    if "data" in given:
        data = _from_json(what, datatype, shape, given["data"])
    else:
        data = _take(what, tail, _size(f"{what}: {BINARY_SIZE}", parameters[BINARY_SIZE]))
    return Tensor(name, datatype, shape, data)


def _take(what: str, tail: io.BytesIO, size: int) -> bytes:
    data = tail.read(min(size, sys.maxsize))
    if len(data) < size:
        raise RequestError(
            f"{what}: wanted {size} bytes behind the JSON, got {len(data)}; the header {JSON_SIZE} "
            "says where they begin"
        )
    return data


def _from_json(what: str, datatype: str, shape: tuple[int, ...], data: object) -> bytes:
    values = _flatten(what, shape, _list(f"{what}: data", data))
    if len(values) != math.prod(shape):
        raise RequestError(
            f"{what}: wanted {math.prod(shape)} elements by its shape, got {len(values)}"
        )
    return pack(what, datatype, values)


def _flatten(what: str, shape: tuple[int, ...], data: list[Any]) -> list[Any]:
    """Return the data as a flat list. It is flat already, or nested like the shape."""
    if not data or not isinstance(data[0], list):
        return data
    for size in shape[1:]:
        if not {*map(type, data)} <= {list} or not {*map(len, data)} <= {size}:
            raise RequestError(
                f"{what}: wanted its data flat, or nested as its shape {reprlib.repr(shape)} says"
            )
        data = [*chain.from_iterable(data)]
    return data


def render(
    answer: InferenceResponse, request: HttpInferenceRequest
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of an answer, with each output in the requested form.

    Raises:
        ModelError: A text for JSON is not UTF-8, or an output's size is wrong.
    """
    outputs: list[dict[str, Any]] = []
    tail: list[bytes] = []
    for one in answer.outputs:
        output: dict[str, Any] = {"name": one.name, "datatype": one.datatype, "shape": one.shape}
        if request.binary.get(one.name, request.is_binary):
            output["parameters"] = {BINARY_SIZE: len(one.data)}
            tail.append(one.data)
        else:
            output["data"] = _to_json(one)
        outputs.append(output)
    named = {"model_name": answer.model, "model_version": answer.version}
    members = named | ({"id": answer.id} if answer.id else {}) | {"outputs": outputs}
    head = orjson.dumps(members, option=orjson.OPT_SERIALIZE_NUMPY)
    if not tail:
        return head, {"Content-Type": "application/json"}
    headers = {"Content-Type": "application/octet-stream", JSON_SIZE: str(len(head))}
    return b"".join([head, *tail]), headers


def _to_json(output: Tensor) -> Any:
    if output.datatype == "BYTES":
        try:
            return [text.decode() for text in bytes_tensors.decode(output, ModelError)]
        except UnicodeDecodeError as error:
            raise ModelError(f"{output.name}: wanted texts in UTF-8, got others") from error
    try:
        return np.frombuffer(output.data, DTYPES[output.datatype]).reshape(math.prod(output.shape))
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"{output.name}: wanted {list(output.shape)} of {', '.join(DTYPES)}, "
            f"got {len(output.data)} bytes of {output.datatype}"
        ) from error


def error_body(message: str) -> bytes:
    """Return the body of an error."""
    return orjson.dumps({"error": message})
