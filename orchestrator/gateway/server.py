"""The gateway's process: its servers in one loop, from their sockets to their end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import uvicorn
from starlette.types import ASGIApp

from orchestrator.errors import ServerError
from orchestrator.gateway.app import make_app, make_metrics_app
from orchestrator.gateway.connections import WORK_S, guarded
from orchestrator.gateway.events import listen
from orchestrator.gateway.grpc_server import Servicer, make_server
from orchestrator.gateway.options import Address, GatewayOptions
from orchestrator.gateway.service import Service

CLOSING_S = 2.0
"""For a peer to agree to the end of a TLS connection."""
GIVE_UP_S = round(WORK_S + CLOSING_S)
BACKLOG = 1024


class HttpServer(uvicorn.Server):
    """uvicorn in a loop that is not its own: signals are for whoever runs the loop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on sockets; a TLS handshake takes no longer than headers may, nor does its end."""
        config, loop = self.config, asyncio.get_running_loop()
        protocol: Any = config.http_protocol_class
        make = partial(
            protocol, config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        times = {
            "ssl_shutdown_timeout": CLOSING_S,
            "ssl_handshake_timeout": protocol.limits.header_s,
        }
        tls: dict[str, Any] = {"ssl": config.ssl, **times} if config.ssl else {}
        self.servers = [
            await loop.create_server(make, sock=one, backlog=BACKLOG, **tls)
            for one in sockets or ()
        ]
        self.started = True


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
    servicer = Servicer(service, service.limits)
    rpc = _grpc_server(servicer, options)
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
    service.connections.is_leaving = True
    servicer.leave()
    for server, _ in servers:
        server.should_exit = True
    await asyncio.gather(*tasks, *([rpc.stop(WORK_S)] if rpc else []))
    await service.close()


def _http_servers(service: Service) -> Iterator[tuple[HttpServer, socket.socket]]:
    options = service.options
    app, shares = make_app(service), options.processes > 1
    yield _http_server(app, service, options.certificate), _listen(options.http, shares=shares)
    if options.metrics:
        app = make_metrics_app(service)
        yield _http_server(app, service, None), _listen(options.metrics, shares=shares)


def _http_server(app: ASGIApp, service: Service, certificate: Path | None) -> HttpServer:
    options = service.options
    config = uvicorn.Config(
        app,
        http=guarded(service.connections, service.limits),
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        timeout_keep_alive=round(service.limits.idle_s),
        timeout_graceful_shutdown=GIVE_UP_S,
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


def _listen(address: Address, *, shares: bool) -> socket.socket:
    """Return a socket; other processes of this user can share its port, if they are to."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(
            (address.host, address.port),
            family=family,
            reuse_port=shares,
            backlog=BACKLOG,
            dualstack_ipv6=address.host == "::",
        )
    except OSError as error:
        raise ServerError(f"{address}: cannot be listened on: {error.strerror}") from error


def _grpc_server(servicer: Servicer, options: GatewayOptions) -> grpc.aio.Server | None:
    if options.grpc is None:
        return None
    try:
        shares = options.processes > 1
        return make_server(servicer, str(options.grpc), _credentials(options), shares_port=shares)
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
