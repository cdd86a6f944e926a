"""What is sent, byte for byte, over each protocol of the gateway; made once, sent many times."""

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
        headers: Beside the length of the body, unless they say that.
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
    """An input of a model; of texts, each has its length in front."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes = field(repr=False)


def pixels(array: NDArray[np.uint8], name: str = PICTURE) -> Tensor:
    """Return an array as an input."""
    return Tensor(name, "UINT8", array.shape, array.tobytes())


def file(content: bytes) -> Tensor:
    """Return a picture's file as an input."""
    return Tensor(ENCODED, "BYTES", (1,), struct.pack("<I", len(content)) + content)


def kserve_http(
    inputs: Sequence[Tensor], parameters: Parameters | None = None, model: str = MODEL
) -> HttpMessage:
    """Ask over KServe v2 with binary tensors, for every output as one."""
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
    """Ask over KServe v2 with nothing but JSON, as who has no client library does."""
    tensor = {"name": PICTURE, "datatype": "UINT8", "shape": array.shape, "data": array.tolist()}
    return HttpMessage(f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [tensor]}).encode())


def kserve_grpc(
    inputs: Sequence[Tensor], parameters: Parameters | None = None, model: str = MODEL
) -> GrpcMessage:
    """Ask over KServe v2 and gRPC, for every output."""
    request = service_pb2.ModelInferRequest(model_name=model)
    for one in inputs:
        request.inputs.add(name=one.name, datatype=one.datatype, shape=one.shape)
        request.raw_input_contents.append(one.data)
    for name, value in (parameters or {}).items():
        request.parameters[name].int64_param = value
    return GrpcMessage(bytes(request.SerializeToString()))


def rest(content: bytes, path: str = "/v1/recognize", **headers: str) -> HttpMessage:
    """Ask over REST with a picture as the body; `_` in headers' names stands for a dash."""
    return HttpMessage(path, content, {k.replace("_", "-"): v for k, v in headers.items()})


def rest_form(*files: bytes) -> HttpMessage:
    """Ask over REST with the fields of a form."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="picture"\r\n\r\n'.encode()
    parts = (head + content + b"\r\n" for content in files)
    body = b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])
    return rest(body, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
