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

STARTS_OF_JSON = (b"{", b"[", b'"')


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
    document = _load(body, size) if json_size is not None else _load_all(body)
    request = _to_members("request", document, ("id", "parameters", "inputs", "outputs"))
    outputs = [_to_output(output) for output in _to_list("outputs", request.get("outputs", []))]
    parameters = _to_parameters(request.get("parameters", {}))
    is_binary = _to_flag(ALL_BINARY, parameters.pop(ALL_BINARY, False))
    call = InferenceRequest(
        model=model,
        inputs=_to_inputs(request.get("inputs"), body, size),
        outputs=tuple(name for name, _ in outputs),
        version=version,
        id=_to_text("id", request.get("id", "")),
        parameters=parameters,
        trace=dict(trace),
    )
    forms = {name: form for name, form in outputs if form is not None}
    return HttpInferenceRequest(check_bounds(call), forms, is_binary)


def _load(body: bytes, size: int) -> Any:
    for sign, max_count in MAX_OCCURRENCES.items():
        count = body.count(sign, 0, size)
        if count > max_count:
            raise RequestError(f"JSON: wanted up to {max_count} {sign.decode()}, got {count}")
    try:
        return orjson.loads(memoryview(body)[:size])
    except orjson.JSONDecodeError as error:  # the error holds the whole text
        raise RequestError(f"JSON: {error.msg} at character {error.pos}") from None


def _load_all(body: bytes) -> Any:
    """Load a body that is all JSON.

    Raises:
        RequestError: The body is no JSON, or bytes of tensors follow it without their header.
    """
    if not body[:MAX_JSON_HEAD_BYTES].lstrip().startswith(STARTS_OF_JSON):
        raise RequestError(
            f"body: wanted a request in JSON, got {len(body)} bytes that are none; "
            "a picture's file alone goes to /v1/recognize"
        )
    try:
        return _load(body, len(body))
    except RequestError as error:
        if f'"{BINARY_SIZE}"'.encode() not in body[:MAX_JSON_HEAD_BYTES]:
            raise
        raise RequestError(
            f"{JSON_SIZE}: wanted this header with the size of the JSON, because bytes of tensors "
            "follow it, got none"
        ) from error


def _to_members(label: str, value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"{label}: wanted an object, got {reprlib.repr(value)}")
    unknown = value.keys() - set(names)
    if unknown:
        raise RequestError(
            f"{label}: wanted some of {', '.join(names)}, got {reprlib.repr(min(unknown))}"
        )
    return value


def _to_list(label: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise RequestError(f"{label}: wanted a list, got {reprlib.repr(value)}")
    return value


def _to_text(label: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{label}: wanted a text, got {reprlib.repr(value)}")
    return value


def _to_flag(label: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{label}: wanted true or false, got {reprlib.repr(value)}")
    return value


def _to_size(label: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RequestError(f"{label}: wanted a whole number from 0, got {reprlib.repr(value)}")
    return value


def _to_parameters(value: object) -> dict[str, Plain]:
    if not isinstance(value, dict):
        raise ParameterError(f"parameters: wanted an object, got {reprlib.repr(value)}")
    for name, parameter in value.items():
        if not isinstance(parameter, Plain):
            raise ParameterError(
                f"{reprlib.repr(name)}: wanted a text, a number, true or false, "
                f"got {reprlib.repr(parameter)}"
            )
    return value


def _to_output(value: object) -> tuple[str, bool | None]:
    output = _to_members("output", value, ("name", "parameters"))
    name = _to_text("name of an output", output.get("name"))
    label = f"parameters of output {reprlib.repr(name)}"
    form = _to_members(label, output.get("parameters", {}), (BINARY,)).get(BINARY)
    return name, form if form is None else _to_flag(label, form)


def _to_inputs(values: object, body: bytes, json_size: int) -> tuple[Tensor, ...]:
    tail = io.BytesIO(body)  # shares the bytes
    tail.seek(json_size)
    inputs = tuple(_to_input(tensor, tail) for tensor in _to_list("inputs", values))
    if tail.tell() != len(body):
        raise RequestError(
            f"body: wanted {tail.tell()} bytes by {BINARY_SIZE} of the inputs, got {len(body)}"
        )
    return inputs


def _to_input(value: object, tail: io.BytesIO) -> Tensor:
    members = _to_members("input", value, ("name", "shape", "datatype", "parameters", "data"))
    name = _to_text("name of an input", members.get("name"))
    label = f"input {reprlib.repr(name)}"
    shape = tuple(
        _to_size(f"{label}: shape", size) for size in _to_list(label, members.get("shape"))
    )
    if len(shape) > MAX_DIMENSIONS:
        raise RequestError(f"{label}: wanted up to {MAX_DIMENSIONS} dimensions, got {len(shape)}")
    datatype = _to_text(f"{label}: datatype", members.get("datatype"))
    parameters = _to_members(f"{label}: parameters", members.get("parameters", {}), (BINARY_SIZE,))
    if ("data" in members) == (BINARY_SIZE in parameters):
        raise RequestError(f"{label}: wanted exactly one of data and {BINARY_SIZE}")
    if "data" in members:
        data = _from_json(label, datatype, shape, members["data"])
    else:
        data = _read_tail(label, tail, _to_size(f"{label}: {BINARY_SIZE}", parameters[BINARY_SIZE]))
    return Tensor(name, datatype, shape, data)


def _read_tail(label: str, tail: io.BytesIO, size: int) -> bytes:
    data = tail.read(min(size, sys.maxsize))
    if len(data) < size:
        raise RequestError(
            f"{label}: wanted {size} bytes behind the JSON, got {len(data)}; "
            f"the header {JSON_SIZE} says where they begin"
        )
    return data


def _from_json(label: str, datatype: str, shape: tuple[int, ...], data: object) -> bytes:
    values = _flatten(label, shape, _to_list(f"{label}: data", data))
    if len(values) != math.prod(shape):
        raise RequestError(
            f"{label}: wanted {math.prod(shape)} elements by its shape, got {len(values)}"
        )
    return pack(label, datatype, values)


def _flatten(label: str, shape: tuple[int, ...], data: list[Any]) -> list[Any]:
    """Return the data as a flat list. It is flat already, or nested like the shape."""
    if not data or not isinstance(data[0], list):
        return data
    for size in shape[1:]:
        if not {*map(type, data)} <= {list} or not {*map(len, data)} <= {size}:
            raise RequestError(
                f"{label}: wanted its data flat, or nested as its shape {reprlib.repr(shape)} says"
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
    for output in answer.outputs:
        fields: dict[str, Any] = {
            "name": output.name,
            "datatype": output.datatype,
            "shape": output.shape,
        }
        if request.binary.get(output.name, request.is_binary):
            fields["parameters"] = {BINARY_SIZE: len(output.data)}
            tail.append(output.data)
        else:
            fields["data"] = _to_json(output)
        outputs.append(fields)
    model = {"model_name": answer.model, "model_version": answer.version}
    members = model | ({"id": answer.id} if answer.id else {}) | {"outputs": outputs}
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
