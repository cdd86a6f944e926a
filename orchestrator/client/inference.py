"""One call of a model, and the codec for its request and answer, for every transport."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from orchestrator.client.error_mapping import UNREADABLE, ErrorResponse
from orchestrator.contract import ENCODED, MODEL, PICTURE, Array, Arrays
from orchestrator.imaging.files import Bgr

HEADER = "Inference-Header-Content-Length"
ANYBODYS = {401, 413, 429, 503}
"""Statuses that a load balancer may send with its own page, with the same meaning as Triton's."""
STUMBLES = (AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)
"""Errors that tritonclient raises for an invalid answer, because it trusts servers."""
READY_PATHS = ("v2/health/ready", f"v2/models/{MODEL}/ready")
CONFIG_PATH = f"v2/models/{MODEL}/config"


@dataclass(frozen=True)
class InferenceRequest:
    """One call of a model.

    Attributes:
        inputs: Tensors by name; bytes as arrays of objects.
        outputs: Names of the wanted outputs.
        model: Name of the model.
        parameters: Request parameters.
        request_id: Request id; empty for none.
        headers: HTTP headers of the call, or its gRPC metadata.
    """

    inputs: Arrays
    outputs: Sequence[str]
    model: str = MODEL
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    request_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, triton: Any) -> dict[str, Any]:
        """Return the arguments with which a tritonclient module makes the request."""
        return {
            "inputs": [_to_input(triton, name, array) for name, array in self.inputs.items()],
            "outputs": [triton.InferRequestedOutput(name) for name in self.outputs],
            "request_id": self.request_id,
            "parameters": dict(self.parameters) or None,
        }

    def read(self, result: Any) -> Arrays:
        """Return the outputs of tritonclient's result. Missing outputs are left out."""
        arrays = {name: result.as_numpy(name) for name in self.outputs}
        return {name: array for name, array in arrays.items() if array is not None}


def _to_input(triton: Any, name: str, array: Array) -> Any:
    tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    return tensor.set_data_from_numpy(array)


def to_input(picture: bytes | Bgr) -> Arrays:
    """Return a picture as the input of `plate_recognition` for its form.

    Args:
        picture: The bytes of a file, or uint8 [H, W, 3] BGR.
    """
    if isinstance(picture, bytes):
        return {ENCODED: np.array([picture], dtype=np.object_)}
    return {PICTURE: picture}


@dataclass(frozen=True)
class HttpResponse:
    """An HTTP response.

    Attributes:
        status: HTTP status.
        headers: Headers by name, in upper or lower case.
        body: The whole body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def write_http(call: InferenceRequest) -> tuple[str, bytes, dict[str, str]]:
    """Return the path, the body and the headers of a call over HTTP."""
    triton = tritonclient.http
    body, json_size = triton.InferenceServerClient.generate_request_body(**call.arguments(triton))
    return f"v2/models/{call.model}/infer", body, {**call.headers, HEADER: str(json_size)}


def read_http(answer: HttpResponse, call: InferenceRequest) -> Arrays:
    """Return the outputs that an answer over HTTP holds.

    Raises:
        InferenceServerException: The answer holds no outputs. The message is that of the server,
            or of a proxy before it.
    """
    body = _accepted(answer)
    protocol = tritonclient.http.InferenceServerClient
    with reading(call.model):
        length = answer.headers.get(HEADER)
        return call.read(protocol.parse_response_body(body, header_length=length))


def read_config(answer: HttpResponse) -> dict[str, Any]:
    """Return the model's configuration that an answer over HTTP holds.

    Raises:
        InferenceServerException: The answer holds no configuration.
    """
    body = _accepted(answer)
    with reading(MODEL):
        return dict(json.loads(body))


def _accepted(answer: HttpResponse) -> bytes:
    """Return the body of a successful answer. Raise the error of any other answer."""
    status = answer.status
    if status == 200 and answer.body:
        return answer.body
    if status == 200:
        raise InferenceServerException("an empty answer", status=UNREADABLE)
    try:
        message = json.loads(answer.body)["error"]
    except (LookupError, TypeError, ValueError):  # a balancer's page
        message = None
    after = answer.headers.get("Retry-After")
    if isinstance(message, str):
        raise ErrorResponse(message, str(status), after)
    raise ErrorResponse(f"HTTP {status}", str(status) if status in ANYBODYS else UNREADABLE, after)


@contextmanager
def reading(model: str) -> Iterator[None]:
    """Report an answer that cannot be read as an error.

    Raises:
        InferenceServerException: The answer cannot be read.
    """
    try:
        yield
    except (*STUMBLES, InferenceServerException) as error:
        message = f"what is no answer of {model} ({type(error).__name__}: {error})"
        raise InferenceServerException(message, status=UNREADABLE) from error
