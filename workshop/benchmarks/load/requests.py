"""Builds requests for every protocol of the gateway; each is built once and sent often."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2

from orchestrator.contract import ENCODED, MODEL, PICTURE

HEADER = "Inference-Header-Content-Length"
BOUNDARY = "a-boundary-that-no-picture-has"
Parameters = Mapping[str, int]


@dataclass(frozen=True)
class HttpRequest:
    """A POST request."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GrpcRequest:
    """A serialised `ModelInferRequest`."""

    body: bytes = field(repr=False)


Request = HttpRequest | GrpcRequest


@dataclass(frozen=True)
class Tensor:
    """An input of a model.

    Attributes:
        data: The content. In BYTES data, each element has its length in front.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes = field(repr=False)


def pixels(array: NDArray[np.uint8], name: str = PICTURE) -> Tensor:
    """Return an array as an input."""
    return Tensor(name, "UINT8", array.shape, array.tobytes())


def file(content: bytes) -> Tensor:
    """Return the file of a picture as an input."""
    return Tensor(ENCODED, "BYTES", (1,), struct.pack("<I", len(content)) + content)


def kserve_http(
    inputs: Sequence[Tensor],
    parameters: Parameters | None = None,
    model: str = MODEL,
    outputs: Sequence[str] = (),
) -> HttpRequest:
    """Return a KServe v2 request with binary tensors; without `outputs` it asks for all of them."""
    head: dict[str, Any] = {
        "inputs": [
            {"name": tensor.name, "datatype": tensor.datatype, "shape": tensor.shape,
             "parameters": {"binary_data_size": len(tensor.data)}}
            for tensor in inputs
        ],
        "parameters": {"binary_data_output": True, **(parameters or {})},
    }  # fmt: skip
    if outputs:
        head["outputs"] = [{"name": name, "parameters": {"binary_data": True}} for name in outputs]
    text = json.dumps(head).encode()
    headers = {HEADER: str(len(text)), "Content-Type": "application/octet-stream"}
    body = b"".join([text, *(tensor.data for tensor in inputs)])
    return HttpRequest(f"/v2/models/{model}/infer", body, headers)


def kserve_json(array: NDArray[np.uint8]) -> HttpRequest:
    """Return a KServe v2 request in JSON alone, as a client without a library sends it."""
    tensor = {"name": PICTURE, "datatype": "UINT8", "shape": array.shape, "data": array.tolist()}
    return HttpRequest(f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [tensor]}).encode())


def kserve_grpc(
    inputs: Sequence[Tensor],
    parameters: Parameters | None = None,
    model: str = MODEL,
    outputs: Sequence[str] = (),
) -> GrpcRequest:
    """Return a KServe v2 request over gRPC; without `outputs` it asks for all of them."""
    request = service_pb2.ModelInferRequest(model_name=model)
    for content in inputs:
        request.inputs.add(name=content.name, datatype=content.datatype, shape=content.shape)
        request.raw_input_contents.append(content.data)
    for name in outputs:
        request.outputs.add(name=name)
    for name, value in (parameters or {}).items():
        request.parameters[name].int64_param = value
    return GrpcRequest(bytes(request.SerializeToString()))


def rest(content: bytes, path: str = "/v1/recognize", **headers: str) -> HttpRequest:
    """Return a REST request with a picture as its body; `_` in header names becomes a dash."""
    return HttpRequest(
        path, content, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def rest_form(*files: bytes) -> HttpRequest:
    """Return a REST request that sends the pictures as fields of a form."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="picture"\r\n\r\n'.encode()
    parts = (head + content + b"\r\n" for content in files)
    body = b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])
    return rest(body, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
