"""The exact bytes of each message, for every protocol of the gateway; made once, sent often."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2

from orchestrator.contract import ENCODED, MODEL, PICTURE

JSON_SIZE = "Inference-Header-Content-Length"
BOUNDARY = "a-boundary-that-no-picture-has"
Parameters = Mapping[str, int]


@dataclass(frozen=True)
class HttpMessage:
    """A POST request.

    Attributes:
        headers: The HTTP headers. Content-Length may be left out, or set on purpose.
    """

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GrpcMessage:
    """A serialised `ModelInferRequest`."""

    request: bytes = field(repr=False)


Message = HttpMessage | GrpcMessage


@dataclass(frozen=True)
class Tensor:
    """An input of a model. In BYTES data, each element has its length in front."""

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
    inputs: Sequence[Tensor], parameters: Parameters | None = None, model: str = MODEL
) -> HttpMessage:
    """Return a KServe v2 request with binary tensors that asks for every output in binary."""
    head = json.dumps(
        {
            "inputs": [
                {"name": one.name, "datatype": one.datatype, "shape": one.shape,
                 "parameters": {"binary_data_size": len(one.data)}}
                for one in inputs
            ],
            "parameters": {"binary_data_output": True, **(parameters or {})},
        }
    ).encode()  # fmt: skip
    body = b"".join([head, *(one.data for one in inputs)])
    return HttpMessage(f"/v2/models/{model}/infer", body, {JSON_SIZE: str(len(head))})


def kserve_json(array: NDArray[np.uint8]) -> HttpMessage:
    """Return a KServe v2 request in JSON alone, as a client without a library sends it."""
    tensor = {"name": PICTURE, "datatype": "UINT8", "shape": array.shape, "data": array.tolist()}
    return HttpMessage(f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [tensor]}).encode())


def kserve_grpc(
    inputs: Sequence[Tensor], parameters: Parameters | None = None, model: str = MODEL
) -> GrpcMessage:
    """Return a KServe v2 request over gRPC that asks for every output."""
    request = service_pb2.ModelInferRequest(model_name=model)
    for one in inputs:
        request.inputs.add(name=one.name, datatype=one.datatype, shape=one.shape)
        request.raw_input_contents.append(one.data)
    for name, value in (parameters or {}).items():
        request.parameters[name].int64_param = value
    return GrpcMessage(bytes(request.SerializeToString()))


def rest(content: bytes, path: str = "/v1/recognize", **headers: str) -> HttpMessage:
    """Return a REST request with a picture as its body; `_` in header names becomes a dash."""
    return HttpMessage(path, content, {k.replace("_", "-"): v for k, v in headers.items()})


def rest_form(*files: bytes) -> HttpMessage:
    """Return a REST request that sends the pictures as fields of a form."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="picture"\r\n\r\n'.encode()
    parts = (head + content + b"\r\n" for content in files)
    body = b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])
    return rest(body, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
