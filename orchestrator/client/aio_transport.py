"""Transports for asyncio, like those of `transport`, but no thread waits for a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import tritonclient.grpc
import tritonclient.grpc.aio

from orchestrator.client.addresses import Address, make_headers, parse_address
from orchestrator.client.forks import FORKS
from orchestrator.client.inference import InferenceRequest, reading
from orchestrator.client.tls import make_credentials
from orchestrator.client.transport import GRPC_OPTIONS
from orchestrator.contract import MODEL, Arrays
from orchestrator.errors import ExtraError


class AioTransport(Protocol):
    """A transport to one server, for one event loop, with the methods of `Transport`."""

    async def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        """Send a call and return the outputs."""

    async def is_ready(self, timeout_s: float) -> bool:
        """Tell whether the server and the model are ready."""

    async def config(self, timeout_s: float) -> dict[str, Any]:
        """Return the model's configuration."""

    async def close(self) -> None:
        """Close the connections. Running calls may end with an error."""


def connect(url: str, key: str | None = None) -> AioTransport:
    """Return a transport to a server, for the running event loop.

    Args:
        url: `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.
        key: API key for every call.

    Raises:
        ServerError: The URL is none of these.
        SettingsError: The key is not valid, or the file of trusted certificates is not.
        ExtraError: HTTP needs aiohttp, which is not installed.
    """
    address, headers = parse_address(url), make_headers(key)
    if address.protocol == "grpc":
        return AioGrpcTransport(address, headers)
    check_aiohttp()
    from orchestrator.client.aio_http import AioHttpTransport

    return AioHttpTransport(address, headers)


def check_aiohttp() -> None:
    """Check that aiohttp is installed, which HTTP needs.

    Raises:
        ExtraError: aiohttp is not installed.
    """
    try:
        import aiohttp  # noqa: F401 - a fifth of a second, which gRPC need not spend
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise ExtraError(
            "over HTTP an AsyncPlateClient needs the package aiohttp, which is not installed: "
            "pip install aiohttp, or call over gRPC (grpc://host:port), which does without"
        ) from error


class AioGrpcTransport:
    """The gRPC transport for KServe v2, by tritonclient on grpc.aio.

    Raises:
        RequestError: The process was forked during a gRPC call.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        FORKS.check()
        self._client = tritonclient.grpc.aio.InferenceServerClient(
            f"{address.host}:{address.port}",
            creds=make_credentials() if address.is_tls else None,
            channel_args=GRPC_OPTIONS,
        )
        self._headers = dict(headers)

    async def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        arguments = call.arguments(tritonclient.grpc)
        headers = {**call.headers, **self._headers}
        with FORKS.calling():
            result = await self._client.infer(
                call.model, headers=headers, client_timeout=timeout_s, **arguments
            )
        with reading(call.model):
            return call.read(result)

    async def is_ready(self, timeout_s: float) -> bool:
        # Two calls, one after the other, share the timeout.
        options = {"headers": self._headers, "client_timeout": timeout_s / 2}
        with FORKS.calling():
            return bool(
                await self._client.is_server_ready(**options)
                and await self._client.is_model_ready(MODEL, **options)
            )

    async def config(self, timeout_s: float) -> dict[str, Any]:
        with FORKS.calling():
            answer = await self._client.get_model_config(
                MODEL, headers=self._headers, as_json=True, client_timeout=timeout_s
            )
        with reading(MODEL):
            return dict(answer["config"])

    async def close(self) -> None:
        await self._client.close()
