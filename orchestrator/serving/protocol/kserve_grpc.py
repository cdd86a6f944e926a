"""Codec of KServe v2 over gRPC: turns messages into calls, and answers into messages."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import RequestError
from orchestrator.serving.protocol.arrays import pack
from orchestrator.serving.protocol.bounds import (
    MAX_DIMENSIONS,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_PARAMETERS,
    check_bounds,
)
from orchestrator.serving.protocol.inference import (
    InferenceRequest,
    InferenceResponse,
    Plain,
    Tensor,
)

MAX_FIELDS = 2 * MAX_INPUTS + MAX_OUTPUTS + MAX_PARAMETERS + 3
"""Largest number of fields of a message. An input may have a second field for its raw contents.
Three fields are name and version of the model, and the id."""
MAX_TYPED_BYTES = 4 * 1024 * 1024
"""Largest number of bytes of a message beside raw contents. Parsed, they take up to 16 times the
memory. Empty outputs take 24 times; `MAX_FIELDS` limits their number."""
RAW = pb.ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER
DELIMITED = 2
"""Wire type of each field of a `ModelInferRequest`."""
RAW_INPUT = bytes([RAW << 3 | DELIMITED])
"""Tag of a tensor's raw content in such a message."""
TYPED = {
    "BOOL": "bool_contents",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int_contents"),
    "INT64": "int64_contents",
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint_contents"),
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}
"""Field of a tensor's contents, by its type. Other types have raw contents only."""
PARAMETERS = {"bool_param", "int64_param", "double_param", "string_param"}


def parse_request(message: bytes) -> Any:
    """Return a `ModelInferRequest`, if the parsed message does not need too much memory.

    Raises:
        RequestError: The bytes are no such message, or it would need too much memory.
    """
    position = field_count = typed_bytes = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        size, position = _read_varint(message, position)
        position += size
        field_count += 1
        typed_bytes += 0 if tag >> 3 == RAW else size
        if tag & 7 != DELIMITED or position > len(message):
            raise RequestError("message: wanted a ModelInferRequest, got other bytes")
        if field_count > MAX_FIELDS:
            raise RequestError(f"message: wanted up to {MAX_FIELDS} fields, got more")
        if typed_bytes > MAX_TYPED_BYTES:
            raise RequestError(
                f"message: wanted up to {MAX_TYPED_BYTES} bytes beside raw_input_contents, got more"
            )
    return parse_message(pb.ModelInferRequest, message)


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number and its end. A number without an end reaches past the message."""
    value = 0
    for index, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    return 0, len(message) + 1


def to_varint(number: int) -> bytes:
    """Return a number that is not negative as it stands in a message."""
    varint = bytearray()
    while number > 0x7F:
        varint.append(number & 0x7F | 0x80)
        number >>= 7
    varint.append(number)
    return bytes(varint)


def parse_message(kind: Any, message: bytes) -> Any:
    """Return a message of a kind.

    Raises:
        RequestError: The bytes are no such message.
    """
    try:
        return kind.FromString(message)
    except DecodeError as error:
        raise RequestError(f"message: wanted a {kind.DESCRIPTOR.name}, got other bytes") from error


def to_call(request: Any, trace: dict[str, str]) -> InferenceRequest:
    """Return a `ModelInferRequest` as a call.

    Raises:
        RequestError: The message is not a valid call, or exceeds a bound.
    """
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise RequestError(
            f"raw_input_contents: wanted one for each of {len(request.inputs)} inputs, "
            f"got {len(raw)}"
        )
    contents = raw or [None] * len(request.inputs)
    call = InferenceRequest(
        model=request.model_name,
        inputs=tuple(
            _to_tensor(tensor, content)
            for tensor, content in zip(request.inputs, contents, strict=True)
        ),
        outputs=tuple(_to_name(output) for output in request.outputs),
        version=request.model_version,
        id=request.id,
        parameters={name: _to_plain(name, value) for name, value in request.parameters.items()},
        trace=trace,
    )
    return check_bounds(call)


def _to_plain(name: str, parameter: Any) -> Plain:
    kind = parameter.WhichOneof("parameter_choice")
    if kind not in PARAMETERS:
        raise RequestError(
            f"parameter {reprlib.repr(name)}: wanted a text, a number, true or false, "
            f"got {kind or 'none'}"
        )
    value: Plain = getattr(parameter, kind)
    return value


def _to_name(output: Any) -> str:
    _check_no_parameters(f"output {reprlib.repr(output.name)}", output)
    name: str = output.name
    return name


def _check_no_parameters(label: str, tensor: Any) -> None:
    if tensor.parameters:
        parameter = reprlib.repr(min(tensor.parameters))
        raise RequestError(f"{label}: wanted no parameters of a tensor, got {parameter}")


def _to_tensor(tensor: Any, raw: bytes | None) -> Tensor:
    label = f"input {reprlib.repr(tensor.name)}"
    _check_no_parameters(label, tensor)
    if len(tensor.shape) > MAX_DIMENSIONS:  # the product of so many would take minutes
        raise RequestError(
            f"{label}: wanted up to {MAX_DIMENSIONS} dimensions, got {len(tensor.shape)}"
        )
    shape = tuple(tensor.shape)
    if any(size < 0 for size in shape):
        raise RequestError(f"{label}: wanted no negative sizes, got {reprlib.repr(shape)}")
    if raw is None:
        raw = _from_typed(label, tensor, shape)
    elif tensor.HasField("contents"):
        raise RequestError(f"{label}: wanted contents or raw_input_contents, got both")
    return Tensor(tensor.name, tensor.datatype, shape, raw)


def _from_typed(label: str, tensor: Any, shape: tuple[int, ...]) -> bytes:
    field_name = TYPED.get(tensor.datatype)
    if field_name is None:
        raise RequestError(
            f"{label}: wanted one of {', '.join(TYPED)} in contents, "
            f"got {reprlib.repr(tensor.datatype)}"
        )
    filled_fields = [field.name for field, _ in tensor.contents.ListFields()]
    if filled_fields not in ([], [field_name]):
        raise RequestError(f"{label}: wanted {field_name} alone, got {', '.join(filled_fields)}")
    values = getattr(tensor.contents, field_name)
    if len(values) != math.prod(shape):
        raise RequestError(
            f"{label}: wanted {math.prod(shape)} elements by its shape, got {len(values)}"
        )
    return pack(label, tensor.datatype, values)


def to_response(answer: InferenceResponse) -> Any:
    """Return an answer as a `ModelInferResponse` with its outputs as raw contents."""
    return pb.ModelInferResponse(
        model_name=answer.model,
        model_version=answer.version,
        id=answer.id,
        outputs=[
            pb.ModelInferResponse.InferOutputTensor(
                name=output.name, datatype=output.datatype, shape=output.shape
            )
            for output in answer.outputs
        ],
        raw_output_contents=[output.data for output in answer.outputs],
    )
