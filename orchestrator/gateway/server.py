"""The gateway's process: its servers in one loop, from their sockets to their end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import uvicorn
from starlette.types import ASGIApp

from orchestrator.errors import ServerError
from orchestrator.gateway.app import make_app, make_metrics_app
from orchestrator.gateway.connections import guarded
from orchestrator.gateway.events import listen
from orchestrator.gateway.grpc_server import Servicer, make_server
from orchestrator.gateway.options import Address, GatewayOptions
from orchestrator.gateway.service import Service

GRACE_S = 15
"""For calls in work when the process is to end."""
BACKLOG = 1024


class HttpServer(uvicorn.Server):
    """uvicorn in a loop that is not its own: signals are for whoever runs the loop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(options: GatewayOptions) -> None:
    """Serve until SIGTERM or Ctrl-C; calls in work are answered first.

    Raises:
        ServerError: An address cannot be listened on, or a certificate not be read.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    service = Service(options)
    servers = list(_http_servers(service))
    rpc = _grpc_server(service)
    if rpc:
        await rpc.start()
    tasks = [asyncio.create_task(server.serve([bound])) for server, bound in servers]
    watches = [
        asyncio.create_task(one)
        for one in (service.watch(), service.canary.watch(), listen(service))
    ]
    await stopped.wait()
    service.triton.repeats.end()
    for watch in watches:
        watch.cancel()
    for server, _ in servers:
        server.should_exit = True
    await asyncio.gather(*tasks, *([rpc.stop(GRACE_S)] if rpc else []))
    await service.close()


def _http_servers(service: Service) -> Iterator[tuple[HttpServer, socket.socket]]:
    options = service.options
    yield _http_server(make_app(service), service, options.certificate), _listen(options.http)
    if options.metrics:
        yield _http_server(make_metrics_app(service), service, None), _listen(options.metrics)


def _http_server(app: ASGIApp, service: Service, certificate: Path | None) -> HttpServer:
    options = service.options
    config = uvicorn.Config(
        app,
        http=guarded(service.connections, service.limits),
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        timeout_keep_alive=round(service.limits.idle_s),
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=certificate,
        ssl_keyfile=options.private_key if certificate else None,
        proxy_headers=False,  # whoever calls would be whoever it says
        server_header=False,
        access_log=False,  # the audit has a line for each call
        log_config=None,
    )
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        raise ServerError(f"certificate: cannot be used: {error.strerror or error}") from error
    return HttpServer(config)


def _listen(address: Address) -> socket.socket:
    """Return a socket that other processes of the gateway may share the port with."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(
            (address.host, address.port),
            family=family,
            reuse_port=True,
            backlog=BACKLOG,
            dualstack_ipv6=address.host == "::",
        )
    except OSError as error:
        raise ServerError(f"{address}: cannot be listened on: {error.strerror}") from error


def _grpc_server(service: Service) -> grpc.aio.Server | None:
    options = service.options
    if options.grpc is None:
        return None
    servicer, credentials = Servicer(service, service.limits), _credentials(options)
    try:
        return make_server(servicer, str(options.grpc), service.limits, credentials)
    except RuntimeError as error:
        raise ServerError(f"{options.grpc}: cannot be listened on: {error}") from error


def _credentials(options: GatewayOptions) -> grpc.ServerCredentials | None:
    if options.certificate is None or options.private_key is None:
        return None
    try:
        pair = options.private_key.read_bytes(), options.certificate.read_bytes()
    except OSError as error:
        raise ServerError(f"{error.filename}: cannot be read: {error.strerror}") from error
    return grpc.ssl_server_credentials([pair])
