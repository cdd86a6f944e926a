"""Reads responses: the number of plates, their texts, or one hash of the whole answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import tritonclient.grpc
import tritonclient.http
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from workshop.benchmarks.load.connections import Reply
from workshop.benchmarks.load.requests import GrpcRequest, Request

UNREADABLE = (
    ValueError, LookupError, TypeError, AttributeError, InferenceServerException, DecodeError,
)  # fmt: skip
"""The exceptions that mean that a response cannot be parsed."""
Tensors = Iterable[tuple[str, str, Sequence[int], bytes]]
"""Name, datatype, shape and content of each tensor."""
OF_THE_CALL = {"seconds", "time", "request_id"}
"""Members of a REST answer that differ from call to call."""


def is_rest(request: Request) -> bool:
    """Tell whether a request is one of the REST API, not of KServe v2."""
    return not isinstance(request, GrpcRequest) and not request.path.startswith("/v2/")


def count_rows(request: Request, reply: Reply) -> int:
    """Return the number of rows in the first output of a KServe response: one for each plate."""
    if isinstance(request, GrpcRequest):
        return int(service_pb2.ModelInferResponse.FromString(reply.content).outputs[0].shape[0])
    return int(json.loads(reply.content[: reply.json_bytes])["outputs"][0]["shape"][0])


def read_texts(request: Request, reply: Reply) -> tuple[str, ...]:
    """Return the texts of all plates, in order; `problem STATUS` for an unusable picture."""
    if is_rest(request):
        return _read_rest(reply.content)
    result: Any
    if isinstance(request, GrpcRequest):
        response = service_pb2.ModelInferResponse.FromString(reply.content)
        result = tritonclient.grpc.InferResult(response)
    else:
        protocol = tritonclient.http.InferenceServerClient
        result = protocol.parse_response_body(reply.content, header_length=reply.json_bytes)
    texts = result.as_numpy("texts").ravel().tolist()
    return tuple(text.decode() if isinstance(text, bytes) else text for text in texts)


def _read_rest(content: bytes) -> tuple[str, ...]:
    texts: list[str] = []
    for picture in json.loads(content)["pictures"]:
        if "problem" in picture:
            texts.append(f"problem {picture['problem']['status']}")
        else:
            plates = picture["plates"] if "plates" in picture else [picture["plate"]]
            texts += [plate["text"] for plate in plates]
    return tuple(texts)


def digest(request: Request, reply: Reply) -> str:
    """Return one hash of an answer. It is the same for a KServe response over HTTP and gRPC.

    The order of JSON members and of tensors does not matter, nor does what a REST answer says about
    its own call.
    """
    if is_rest(request):
        answer = json.loads(reply.content, object_hook=_drop_call)
        return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
    is_grpc = isinstance(request, GrpcRequest)
    hashed = hashlib.sha256()
    for name, kind, shape, content in sorted(_read_grpc(reply) if is_grpc else _read_http(reply)):
        hashed.update(f"{name} {kind} {[*shape]} {len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()


def _drop_call(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in OF_THE_CALL}


def _read_http(reply: Reply) -> Tensors:
    at = reply.json_bytes or len(reply.content)
    for output in json.loads(reply.content[:at])["outputs"]:
        size = int(output["parameters"]["binary_data_size"])
        content = reply.content[at : at + size]
        yield output["name"], output["datatype"], output["shape"], content
        at += size


def _read_grpc(reply: Reply) -> Tensors:
    response = service_pb2.ModelInferResponse.FromString(reply.content)
    for output, content in zip(response.outputs, response.raw_output_contents, strict=True):
        yield output.name, output.datatype, [*output.shape], content
