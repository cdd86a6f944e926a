"""Channels to the server: KServe v2 over HTTP or gRPC, with tritonclient's codec.

Each channel is written once, with coroutines. Over functions that block they never suspend, so that
`run_blocking` runs them in a thread. Over functions of asyncio they run in its event loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import tritonclient.grpc

from orchestrator.client.forks import FORKS
from orchestrator.client.inference import (
    CONFIG_PATH,
    READY_PATHS,
    HttpResponse,
    InferenceRequest,
    OutgoingRequest,
    read_config,
    read_http,
    reading,
    write_http,
)
from orchestrator.client.server_address import ServerAddress
from orchestrator.client.transport import AsyncTransport, Transport
from orchestrator.contract import MODEL, Arrays
from orchestrator.errors import RequestError
from orchestrator.host.blocking import settle

NO_HEADERS: Mapping[str, str] = {}


class Stream(Protocol):
    """An answer whose body comes piece by piece.

    Attributes:
        status: HTTP status.
        headers: Headers by name, in upper or lower case.
    """

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def read(self, silent_s: float) -> bytes | Awaitable[bytes]:
        """Return the next piece; nothing at the end.

        Raises:
            OSError: No byte came for `silent_s`, or the connection is lost.
        """

    def close(self) -> Awaitable[None] | None:
        """Close the connection."""


class Channel(Protocol):
    """A channel to one server, for any number of threads of one process, or for one event loop.

    Each method ends within `timeout_s`, even if the server never answers. It raises errors that
    `translate_errors` translates.
    """

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        """Send a request and return the outputs."""

    async def is_ready(self, timeout_s: float) -> bool:
        """Tell whether the server and the model are ready."""

    async def config(self, timeout_s: float) -> dict[str, Any]:
        """Return the model's configuration."""

    async def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        """Send a request of another API of the server, and return the answer.

        Raises:
            RequestError: The channel is not one over HTTP.
        """

    async def open_stream(self, request: OutgoingRequest, timeout_s: float) -> Stream:
        """Send a request, and return the answer before its body has come. The caller closes it.

        Raises:
            RequestError: The channel is not one over HTTP.
        """

    async def close(self) -> None:
        """Close the connections. Running requests may end with an error."""


class HttpConnections(Protocol):
    """HTTP connections to one server."""

    def send(
        self, request: OutgoingRequest, timeout_s: float
    ) -> HttpResponse | Awaitable[HttpResponse]:
        """Send a request and return the response."""

    def open_stream(self, request: OutgoingRequest, timeout_s: float) -> Stream | Awaitable[Stream]:
        """Send a request over a connection of its own, and return the response without its body."""

    def close(self) -> Awaitable[None] | None:
        """Close the connections."""


class HttpChannel:
    """The channel over HTTP.

    tritonclient's own HTTP client is for one thread. It uses gevent's pool, in which two threads
    wait for each other for ever.
    """

    def __init__(
        self, connections: HttpConnections, address: ServerAddress, headers: Mapping[str, str]
    ) -> None:
        self._connections = connections
        self._base = address.base
        self._headers = headers

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        deadline = time.monotonic() + timeout_s
        return read_http(await self._send(write_http(request), deadline), request)

    async def is_ready(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        for path in READY_PATHS:
            if (await self._send(OutgoingRequest("GET", path), deadline)).status != 200:
                return False
        return True

    async def config(self, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        return read_config(await self._send(OutgoingRequest("GET", CONFIG_PATH), deadline))

    async def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        return await self._send(request, time.monotonic() + timeout_s)

    async def open_stream(self, request: OutgoingRequest, timeout_s: float) -> Stream:
        return await settle(self._connections.open_stream(self._complete(request), timeout_s))

    async def close(self) -> None:
        await settle(self._connections.close())

    async def _send(self, request: OutgoingRequest, deadline: float) -> HttpResponse:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return await settle(self._connections.send(self._complete(request), left_s))

    def _complete(self, request: OutgoingRequest) -> OutgoingRequest:
        """Return a request with the path on this server and the headers of every request."""
        return replace(
            request,
            path=f"{self._base}/{request.path}",
            headers={**request.headers, **self._headers},
        )


class GrpcChannel:
    """The channel over gRPC, by tritonclient. Any number of threads may use it.

    Args:
        client: An `InferenceServerClient` of `tritonclient.grpc` or of `tritonclient.grpc.aio`.
        headers: Metadata of every request.
    """

    def __init__(self, client: Any, headers: Mapping[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        arguments = request.arguments(tritonclient.grpc)
        infer = self._client.infer
        result = await self._send(infer, timeout_s, request.headers, request.model, **arguments)
        with reading(request.model):
            return request.read(result)

    async def is_ready(self, timeout_s: float) -> bool:
        half_s = timeout_s / 2  # for each of two requests, one after the other
        return bool(
            await self._send(self._client.is_server_ready, half_s)
            and await self._send(self._client.is_model_ready, half_s, NO_HEADERS, MODEL)
        )

    async def config(self, timeout_s: float) -> dict[str, Any]:
        get_config = self._client.get_model_config
        response = await self._send(get_config, timeout_s, NO_HEADERS, MODEL, as_json=True)
        with reading(MODEL):
            return dict(response["config"])

    async def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        raise _without_http(request, "one of gRPC")

    async def open_stream(self, request: OutgoingRequest, timeout_s: float) -> Stream:
        raise _without_http(request, "one of gRPC")

    async def close(self) -> None:
        await settle(self._client.close())

    async def _send(
        self,
        method: Callable[..., Any],
        timeout_s: float,
        headers: Mapping[str, str] = NO_HEADERS,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        metadata = {**headers, **self._headers}
        with FORKS.record_call():
            return await settle(
                method(*arguments, headers=metadata, client_timeout=timeout_s, **options)
            )


class CustomChannel:
    """The channel over a caller's own transport. It reports a server with default settings."""

    def __init__(self, transport: Transport | AsyncTransport) -> None:
        self._transport = transport

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        return await settle(self._transport.infer(request, timeout_s))

    async def is_ready(self, timeout_s: float) -> bool:
        return True

    async def config(self, timeout_s: float) -> dict[str, Any]:
        return {}

    async def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        raise _without_http(request, "a custom transport")

    async def open_stream(self, request: OutgoingRequest, timeout_s: float) -> Stream:
        raise _without_http(request, "a custom transport")

    async def close(self) -> None:
        await settle(self._transport.close())


def _without_http(request: OutgoingRequest, kind: str) -> RequestError:
    path = request.path.partition("?")[0]
    return RequestError(f"{path}: wanted a client with an HTTP address, got {kind}")
