"""Requests to a model, and the codec of the inference protocol over HTTP."""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from orchestrator.client.error_mapping import UNREADABLE, RejectedError, parse_retry_after
from orchestrator.contract import (
    ENCODED,
    EVERY_OUTPUT,
    MODEL,
    PICTURE,
    Array,
    Arrays,
    wants_all,
)
from orchestrator.errors import NO_RESPONSE, ErrorResponse
from orchestrator.imaging.files import Bgr

HEADER = "Inference-Header-Content-Length"
COMMON = {401, 413, 429, 503}
"""Statuses that a load balancer may send with its own page, with the same meaning as Triton's."""
DECODING_ERRORS = (
    AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip
"""Errors that tritonclient raises for an invalid answer, because it trusts servers."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Largest answer that a client takes; one with a thousand plates has a megabyte."""
READY_PATHS = ("v2/health/ready", f"v2/models/{MODEL}/ready")
CONFIG_PATH = f"v2/models/{MODEL}/config"


@dataclass(frozen=True)
class InferenceRequest:
    """A request to a model.

    Attributes:
        inputs: Tensors by name; bytes as arrays of objects.
        outputs: Names of the wanted outputs; see `readable_outputs`.
        model: Name of the model.
        request_id: Request id; empty for none.
        headers: HTTP headers of the request, or its gRPC metadata.
    """

    inputs: Arrays
    outputs: Sequence[str]
    model: str = MODEL
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    request_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def readable_outputs(self) -> Collection[str]:
        """Names of the outputs that may come: also those about countries if all are wanted."""
        return EVERY_OUTPUT if wants_all(self.outputs) else self.outputs

    def arguments(self, triton: Any) -> dict[str, Any]:
        """Return the arguments with which a tritonclient module makes the request.

        If all outputs are wanted, the request names none: only the server knows what it has.
        """
        names = () if wants_all(self.outputs) else self.outputs
        return {
            "inputs": [_to_input(triton, name, array) for name, array in self.inputs.items()],
            "outputs": [triton.InferRequestedOutput(name) for name in names] or None,
            "request_id": self.request_id,
            "parameters": dict(self.parameters) or None,
        }

    def read(self, result: Any) -> Arrays:
        """Return the outputs of tritonclient's result. Missing outputs are left out."""
        arrays = {name: result.as_numpy(name) for name in self.readable_outputs}
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
class OutgoingRequest:
    """An HTTP request.

    Attributes:
        method: HTTP method.
        path: Path on the server.
        body: The whole body; None for none.
        headers: Headers by name.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpResponse:
    """An HTTP response.

    Attributes:
        headers: Headers by name, in upper or lower case.
        body: The whole body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def check_size(body: bytes | bytearray) -> None:
    """Check an answer, or as much of it as has come.

    Raises:
        RejectedError: It is too large. No server of ours sends such a one.
    """
    if len(body) > MAX_ANSWER_BYTES:
        raise RejectedError(f"one of more than {MAX_ANSWER_BYTES >> 20} MiB", UNREADABLE)


def write_http(request: InferenceRequest) -> OutgoingRequest:
    """Return a request to a model as an HTTP request."""
    triton = tritonclient.http
    arguments = request.arguments(triton)
    body, json_size = triton.InferenceServerClient.generate_request_body(**arguments)
    headers = {**request.headers, HEADER: str(json_size)}
    return OutgoingRequest("POST", f"v2/models/{request.model}/infer", body, headers)


def read_http(response: HttpResponse, request: InferenceRequest) -> Arrays:
    """Return the outputs that an HTTP response holds.

    Raises:
        RejectedError: The response holds no outputs. The message comes from the server, or from a
            proxy before it.
    """
    body = _read_body(response)
    protocol = tritonclient.http.InferenceServerClient
    with reading(request.model, ErrorResponse(response.status)):
        length = response.headers.get(HEADER)
        return request.read(protocol.parse_response_body(body, header_length=length))


def read_config(response: HttpResponse) -> dict[str, Any]:
    """Return the model's configuration that an HTTP response holds.

    Raises:
        RejectedError: The response holds no configuration.
    """
    body = _read_body(response)
    with reading(MODEL, ErrorResponse(response.status)):
        return dict(json.loads(body))


def _read_body(response: HttpResponse) -> bytes:
    """Return the body of a successful response. Raise the error of any other response."""
    status = response.status
    if status == 200 and response.body:
        return response.body
    retry_after_s = parse_retry_after(response.headers.get("Retry-After"))
    error_response = ErrorResponse(status, retry_after_s=retry_after_s)
    if status == 200:
        raise RejectedError("an empty answer", UNREADABLE, error_response)
    try:
        message = json.loads(response.body)["error"]
    except (LookupError, TypeError, ValueError):  # a balancer's page
        message = None
    if isinstance(message, str):
        raise RejectedError(message, str(status), error_response)
    kind = str(status) if status in COMMON else UNREADABLE
    raise RejectedError(f"HTTP {status}", kind, error_response)


@contextmanager
def reading(model: str, response: ErrorResponse = NO_RESPONSE) -> Iterator[None]:
    """Report a response that cannot be decoded as an error.

    Raises:
        RejectedError: The response cannot be decoded.
    """
    try:
        yield
    except (*DECODING_ERRORS, InferenceServerException) as error:
        message = f"what is no answer of {model} ({type(error).__name__}: {error})"
        raise RejectedError(message, UNREADABLE, response) from error
