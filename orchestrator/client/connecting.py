"""Opens a channel to a server by its URL, for threads or for asyncio."""

from __future__ import annotations

from typing import Any

import tritonclient.grpc

from orchestrator.client.channels import Channel, GrpcChannel, HttpChannel
from orchestrator.client.forks import FORKS
from orchestrator.client.http_connections import ConnectionPool
from orchestrator.client.inference import MAX_ANSWER_BYTES
from orchestrator.client.server_address import ServerAddress, make_headers, parse_address
from orchestrator.client.sockets import make_context, make_credentials
from orchestrator.errors import ExtraError
from orchestrator.host.loopback import PAST_PROXY

GRPC_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
    # If a name has several addresses, each call goes to the next one, not all to the first.
    ("grpc.lb_policy_name", "round_robin"),
    # gRPC would use the proxy of $http_proxy, even for localhost. HTTP calls use no proxy either.
    PAST_PROXY,
    # gRPC shares connections by address. A forked child would use its parent's connection.
    ("grpc.use_local_subchannel_pool", 1),
]


def connect(url: str, key: str | None = None) -> Channel:
    """Return a channel for threads. `run_blocking` runs its methods. It connects at the first call.

    Args:
        url: `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.
        key: API key for every request.

    Raises:
        ServerError: The URL is none of these.
        SettingsError: The key is not valid, or the file of trusted certificates is not.
        RequestError: The process was forked during a gRPC call, and the URL is one of gRPC.
    """
    address, headers = parse_address(url), make_headers(key)
    if address.protocol == "grpc":
        return GrpcChannel(_open_grpc(tritonclient.grpc, address), headers)
    tls = make_context() if address.is_tls else None
    return HttpChannel(ConnectionPool(address.host, address.port, tls), address, headers)


def connect_async(url: str, key: str | None = None) -> Channel:
    """Return a channel for the running event loop, like `connect`.

    Raises:
        ExtraError: HTTP needs aiohttp, which is not installed.
    """
    address, headers = parse_address(url), make_headers(key)
    if address.protocol == "grpc":
        import tritonclient.grpc.aio

        return GrpcChannel(_open_grpc(tritonclient.grpc.aio, address), headers)
    check_aiohttp()
    from orchestrator.client.aio_http import AioHttpConnections

    return HttpChannel(AioHttpConnections(address), address, headers)


def _open_grpc(triton: Any, address: ServerAddress) -> Any:
    """Return the client of a tritonclient module."""
    FORKS.check()
    return triton.InferenceServerClient(
        f"{address.host}:{address.port}",
        creds=make_credentials() if address.is_tls else None,
        channel_args=GRPC_OPTIONS,
    )


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
