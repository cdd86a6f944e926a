"""How a call reaches the server: KServe v2 over HTTP or gRPC, by tritonclient's own bytes."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype
from urllib3 import BaseHTTPResponse, Timeout

from orchestrator.client.addresses import Address, make_headers, parse_address
from orchestrator.client.connections import ConnectionPool
from orchestrator.client.faults import UNREADABLE
from orchestrator.client.forks import FORKS
from orchestrator.client.tls import make_context, make_credentials
from orchestrator.contract import ENCODED, MODEL, PICTURE, Array, Arrays
from orchestrator.loopback import PAST_PROXY
from orchestrator.picture_files import Bgr

GRPC_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # Where a name has several addresses each call goes to the next, not all to the first.
    ("grpc.lb_policy_name", "round_robin"),
    # Else gRPC would ask the proxy of $http_proxy, even for localhost; HTTP calls ask none either.
    PAST_PROXY,
    # Else a forked child would go on with its parent's connection, which gRPC shares by address.
    ("grpc.use_local_subchannel_pool", 1),
]
HEADER = "Inference-Header-Content-Length"
NO_HEADERS: Mapping[str, str] = {}
ANYBODYS = {401, 413, 429, 503}
"""Statuses that a balancer says with a page of its own, and means what Triton would mean."""
STUMBLES = (AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)
"""What tritonclient, which trusts servers, raises over an answer that is none."""


@dataclass(frozen=True)
class Call:
    """One call of a model.

    Attributes:
        inputs: Tensors by name; bytes as arrays of objects.
        outputs: Names of the outputs that are wanted.
        model: Which one.
        parameters: Request parameters.
        request_id: Names the call; empty for none.
        headers: Go along with it, as gRPC metadata too.
    """

    inputs: Arrays
    outputs: Sequence[str]
    model: str = MODEL
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    request_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, triton: Any) -> dict[str, Any]:
        """Return what a tritonclient module takes to make the request."""
        return {
            "inputs": [_to_input(triton, name, array) for name, array in self.inputs.items()],
            "outputs": [triton.InferRequestedOutput(name) for name in self.outputs],
            "request_id": self.request_id,
            "parameters": dict(self.parameters) or None,
        }

    def read(self, result: Any) -> Arrays:
        """Return the outputs of tritonclient's result; those that are missing are left out."""
        arrays = {name: result.as_numpy(name) for name in self.outputs}
        return {name: array for name, array in arrays.items() if array is not None}


def _to_input(triton: Any, name: str, array: Array) -> Any:
    tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    return tensor.set_data_from_numpy(array)


def to_input(picture: bytes | Bgr) -> Arrays:
    """Return a picture as whichever input of `plate_recognition` takes it.

    Args:
        picture: The bytes of a file, or uint8 [H, W, 3] BGR.
    """
    if isinstance(picture, bytes):
        return {ENCODED: np.array([picture], dtype=np.object_)}
    return {PICTURE: picture}


class Transport(Protocol):
    """A way to one server, for any number of threads of one process.

    Each method ends within `timeout_s`, whatever the server does, and raises what
    `translate_errors` translates.
    """

    def infer(self, call: Call, timeout_s: float) -> Arrays:
        """Send a call and return the outputs."""

    def is_ready(self, timeout_s: float) -> bool:
        """Tell whether the server and the model are ready."""

    def config(self, timeout_s: float) -> dict[str, Any]:
        """Return the model's configuration."""

    def close(self) -> None:
        """Close the connections; calls under way may end with an error."""


def connect(url: str, key: str | None = None) -> Transport:
    """Return the way to a server; the connection is made with the first call.

    Args:
        url: `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.
        key: API key that goes along with every call.

    Raises:
        ServerError: The URL is none of these.
        SettingsError: The key can be none, or the file of trusted certificates is none.
    """
    address, headers = parse_address(url), make_headers(key)
    if address.protocol == "grpc":
        return GrpcTransport(address, headers)
    return HttpTransport(address, headers)


class HttpTransport:
    """KServe v2 over HTTP: bodies made and read by tritonclient, carried by urllib3.

    tritonclient's own HTTP client is for one thread: its pool is gevent's, where two threads wait
    for each other for ever.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        tls = make_context() if address.is_tls else None
        self._pool = ConnectionPool(address.host, address.port, tls)
        self._base = address.base
        self._headers = headers

    def infer(self, call: Call, timeout_s: float) -> Arrays:
        ends = time.monotonic() + timeout_s
        triton = tritonclient.http
        protocol = triton.InferenceServerClient
        body, json_size = protocol.generate_request_body(**call.arguments(triton))
        headers = {**call.headers, HEADER: str(json_size)}
        path = f"v2/models/{call.model}/infer"
        answer = _accepted(self._send("POST", path, ends, body, headers))
        with _reading(call.model):
            length = answer.headers.get(HEADER)
            return call.read(protocol.parse_response_body(answer.data, header_length=length))

    def is_ready(self, timeout_s: float) -> bool:
        ends = time.monotonic() + timeout_s
        paths = ("v2/health/ready", f"v2/models/{MODEL}/ready")
        return all(self._send("GET", path, ends).status == 200 for path in paths)

    def config(self, timeout_s: float) -> dict[str, Any]:
        path = f"v2/models/{MODEL}/config"
        answer = _accepted(self._send("GET", path, time.monotonic() + timeout_s))
        with _reading(MODEL):
            return dict(json.loads(answer.data))

    def close(self) -> None:
        self._pool.close()

    def _send(
        self,
        method: str,
        path: str,
        ends: float,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> BaseHTTPResponse:
        left_s = ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return self._pool.urlopen(
            method,
            f"{self._base}/{path}",
            body,
            {**headers, **self._headers},
            retries=False,  # `Retries` says when a call is sent again
            redirect=False,
            timeout=Timeout(total=left_s),
        )


class GrpcTransport:
    """KServe v2 over gRPC, by tritonclient, whose channel any number of threads may use.

    Raises:
        RequestError: The process was forked in the midst of a gRPC call.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        FORKS.check()
        self._client = tritonclient.grpc.InferenceServerClient(
            f"{address.host}:{address.port}",
            creds=make_credentials() if address.is_tls else None,
            channel_args=GRPC_OPTIONS,
        )
        self._headers = dict(headers)

    def infer(self, call: Call, timeout_s: float) -> Arrays:
        arguments = call.arguments(tritonclient.grpc)
        headers = {**call.headers, **self._headers}
        with FORKS.calling():
            result = self._client.infer(
                call.model, headers=headers, client_timeout=timeout_s, **arguments
            )
        with _reading(call.model):
            return call.read(result)

    def is_ready(self, timeout_s: float) -> bool:
        # Two calls, one after the other.
        options = {"headers": self._headers, "client_timeout": timeout_s / 2}
        with FORKS.calling():
            return bool(
                self._client.is_server_ready(**options)
                and self._client.is_model_ready(MODEL, **options)
            )

    def config(self, timeout_s: float) -> dict[str, Any]:
        with FORKS.calling():
            answer = self._client.get_model_config(
                MODEL, headers=self._headers, as_json=True, client_timeout=timeout_s
            )
        with _reading(MODEL):
            return dict(answer["config"])

    def close(self) -> None:
        self._client.close()


def _accepted(answer: BaseHTTPResponse) -> BaseHTTPResponse:
    """Return an answer that is one; raise what the server, or somebody before it, says instead."""
    status = answer.status
    if status == 200 and answer.data:
        return answer
    if status == 200:
        raise InferenceServerException("an empty answer", status=UNREADABLE)
    try:
        message = json.loads(answer.data)["error"]
    except (LookupError, TypeError, ValueError):  # a balancer's page
        message = None
    if isinstance(message, str):
        raise InferenceServerException(message, status=str(status))
    raise InferenceServerException(
        f"HTTP {status}", status=str(status) if status in ANYBODYS else UNREADABLE
    )


@contextmanager
def _reading(model: str) -> Iterator[None]:
    try:
        yield
    except (*STUMBLES, InferenceServerException) as error:
        message = f"what is no answer of {model} ({type(error).__name__}: {error})"
        raise InferenceServerException(message, status=UNREADABLE) from error
