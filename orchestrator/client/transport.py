"""Transports to the server: KServe v2 over HTTP or gRPC, with tritonclient's codec."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import tritonclient.grpc
from urllib3 import Timeout

from orchestrator.client.addresses import Address, make_headers, parse_address
from orchestrator.client.connections import ConnectionPool
from orchestrator.client.forks import FORKS
from orchestrator.client.inference import (
    CONFIG_PATH,
    HEADER,
    READY_PATHS,
    HttpResponse,
    InferenceRequest,
    read_config,
    read_http,
    reading,
    to_input,
    write_http,
)
from orchestrator.client.tls import make_context, make_credentials
from orchestrator.contract import MODEL, Arrays
from orchestrator.system.loopback import PAST_PROXY

__all__ = ["HEADER", "InferenceRequest", "Transport", "connect", "to_input"]

GRPC_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # If a name has several addresses, each call goes to the next one, not all to the first.
    ("grpc.lb_policy_name", "round_robin"),
    # gRPC would use the proxy of $http_proxy, even for localhost. HTTP calls use no proxy either.
    PAST_PROXY,
    # gRPC shares connections by address. A forked child would use its parent's connection.
    ("grpc.use_local_subchannel_pool", 1),
]
NO_HEADERS: Mapping[str, str] = {}


class Transport(Protocol):
    """A transport to one server, for any number of threads of one process.

    Each method ends within `timeout_s`, even if the server never answers. It raises errors that
    `translate_errors` translates.
    """

    def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        """Send a call and return the outputs."""

    def is_ready(self, timeout_s: float) -> bool:
        """Tell whether the server and the model are ready."""

    def config(self, timeout_s: float) -> dict[str, Any]:
        """Return the model's configuration."""

    def close(self) -> None:
        """Close the connections. Running calls may end with an error."""


def connect(url: str, key: str | None = None) -> Transport:
    """Return a transport to a server. It connects at the first call.

    Args:
        url: `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.
        key: API key for every call.

    Raises:
        ServerError: The URL is none of these.
        SettingsError: The key is not valid, or the file of trusted certificates is not.
    """
    address, headers = parse_address(url), make_headers(key)
    if address.protocol == "grpc":
        return GrpcTransport(address, headers)
    return HttpTransport(address, headers)


class HttpTransport:
    """The HTTP transport: tritonclient's codec for KServe v2, with urllib3.

    tritonclient's own HTTP client is for one thread. It uses gevent's pool, in which two threads
    wait for each other for ever.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        tls = make_context() if address.is_tls else None
        self._pool = ConnectionPool(address.host, address.port, tls)
        self._base = address.base
        self._headers = headers

    def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        ends = time.monotonic() + timeout_s
        path, body, headers = write_http(call)
        return read_http(self._send("POST", path, ends, body, headers), call)

    def is_ready(self, timeout_s: float) -> bool:
        ends = time.monotonic() + timeout_s
        return all(self._send("GET", path, ends).status == 200 for path in READY_PATHS)

    def config(self, timeout_s: float) -> dict[str, Any]:
        return read_config(self._send("GET", CONFIG_PATH, time.monotonic() + timeout_s))

    def close(self) -> None:
        self._pool.close()

    def _send(
        self,
        method: str,
        path: str,
        ends: float,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> HttpResponse:
        left_s = ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        answer = self._pool.urlopen(
            method,
            f"{self._base}/{path}",
            body,
            {**headers, **self._headers},
            retries=False,  # `Retries` decides about retries
            redirect=False,
            timeout=Timeout(total=left_s),
        )
        return HttpResponse(answer.status, answer.headers, answer.data)


class GrpcTransport:
    """The gRPC transport for KServe v2, by tritonclient. Any number of threads may use its channel.

    Raises:
        RequestError: The process was forked during a gRPC call.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        FORKS.check()
        self._client = tritonclient.grpc.InferenceServerClient(
            f"{address.host}:{address.port}",
            creds=make_credentials() if address.is_tls else None,
            channel_args=GRPC_OPTIONS,
        )
        self._headers = dict(headers)

    def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        arguments = call.arguments(tritonclient.grpc)
        headers = {**call.headers, **self._headers}
        with FORKS.calling():
            result = self._client.infer(
                call.model, headers=headers, client_timeout=timeout_s, **arguments
            )
        with reading(call.model):
            return call.read(result)

    def is_ready(self, timeout_s: float) -> bool:
        # Two calls, one after the other, share the timeout.
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
        with reading(MODEL):
            return dict(answer["config"])

    def close(self) -> None:
        self._client.close()
