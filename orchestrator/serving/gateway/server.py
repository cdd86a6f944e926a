"""The servers of one gateway process, in one event loop: start, serve and stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import uvicorn
from starlette.types import ASGIApp

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.certificates import Certificate
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.extension_host import ExtensionHost
from orchestrator.serving.gateway.grpc.server import Servicer, make_server
from orchestrator.serving.gateway.http.app import make_metrics_app
from orchestrator.serving.gateway.http.extension import OpenExtension
from orchestrator.serving.gateway.http.protocol import make_protocol
from orchestrator.serving.gateway.ipc import listen
from orchestrator.serving.gateway.ops.memory_trim import MemoryTrim
from orchestrator.serving.gateway.options import MAX_OPTION, WORK_S, Address, GatewayOptions
from orchestrator.serving.gateway.policy.connections import Connections

CLOSING_S = 2.0
"""Seconds for a client to confirm the end of a TLS connection."""
GIVE_UP_S = round(WORK_S + CLOSING_S)
BACKLOG = 1024
Duty = Callable[[], Awaitable[None]]

logger = logging.getLogger(__name__)


class HttpServer(uvicorn.Server):
    """A uvicorn server in a shared event loop. The owner of the loop handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on sockets. The timeout of headers also applies to the TLS handshake."""
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
            await loop.create_server(make, sock=listener, backlog=BACKLOG, **tls)
            for listener in sockets or ()
        ]
        self.started = True


async def serve(options: GatewayOptions, open_extension: OpenExtension | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C. Calls in work are answered first.

    Args:
        options: Options of the gateway.
        open_extension: Opens an extension with more routes; None for none.

    Raises:
        ServerError: An address cannot be used, a certificate cannot be read, or a background task
            failed.
    """
    stop_event = _stop_signal()
    certificate = _certificate_of(options)
    service = DataPlane(options, certificate)
    host = ExtensionHost(service, open_extension)
    await host.start()
    servers = list(_http_servers(service, host.app))
    servicer = Servicer(service, service.limits)
    rpc = _grpc_server(servicer, options, certificate)
    duties: list[Duty] = [service.watch, service.canary.watch, partial(listen, service), host.run]
    duties.append(partial(MemoryTrim().watch, lambda: service.admission.counts().bytes))
    if certificate:
        certificate.serve_with([server.config.ssl for server, _ in servers if server.config.ssl])
        duties.append(certificate.watch)
    if rpc:
        await rpc.start()
    failures: list[Exception] = []
    run = partial(_run, failures=failures, stop_event=stop_event)
    tasks = [asyncio.create_task(run(partial(server.serve, bound))) for server, bound in servers]
    watches = [asyncio.create_task(run(duty)) for duty in duties]
    await stop_event.wait()
    for watch in watches:
        watch.cancel()
    service.leave()
    servicer.leave()
    for server, _ in servers:
        server.should_exit = True
    await asyncio.gather(*tasks, *([rpc.stop(WORK_S)] if rpc else []))
    for bound in (bound for _, sockets in servers for bound in sockets):
        bound.close()  # where a server failed, it has not done so
    await host.close()
    await service.close()
    if failures:
        raise ServerError(f"a task in the background failed: {failures[0]!r}") from failures[0]


def _stop_signal() -> asyncio.Event:
    """Return the event that SIGTERM or Ctrl-C sets."""
    stop_event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    return stop_event


async def _run(duty: Duty, failures: list[Exception], stop_event: asyncio.Event) -> None:
    """Run a background task. If it fails, the process must end, and another must replace it."""
    try:
        await duty()
    except Exception as error:
        logger.critical("a task in the background failed", exc_info=error)
        failures.append(error)
        stop_event.set()


def _http_servers(
    service: DataPlane, callers_app: ASGIApp
) -> Iterator[tuple[HttpServer, list[socket.socket]]]:
    options = service.options
    callers = _http_server(callers_app, service, service.connections, options.certificate)
    yield callers, _listen_everywhere(options.http, options)
    if options.metrics:
        app = make_metrics_app(service)
        probes = _http_server(app, service, service.probes, None)
        yield probes, _listen_everywhere(options.metrics, options)


def _http_server(
    app: ASGIApp, service: DataPlane, connections: Connections, certificate: Path | None
) -> HttpServer:
    options = service.options
    config = uvicorn.Config(
        app,
        http=make_protocol(connections, service.limits),
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        timeout_keep_alive=round(service.limits.idle_s),
        timeout_graceful_shutdown=GIVE_UP_S,
        ssl_certfile=certificate,
        ssl_keyfile=options.private_key if certificate else None,
        proxy_headers=False,  # callers could forge their addresses
        server_header=False,
        access_log=False,  # the audit has a line for each call
        log_config=None,
    )
    config.load()
    return HttpServer(config)


def _listen_everywhere(address: Address, options: GatewayOptions) -> list[socket.socket]:
    """Return a listening socket, and another one if `localhost` has two addresses."""
    sockets = [_listen(address, options)]
    if twin := address.twin:
        try:
            sockets.append(_listen(twin, options))
        except ServerError as error:  # a machine without IPv6, or another service
            logger.info("%s; clients that resolve localhost to it do not reach this one", error)
    return sockets


def _listen(address: Address, options: GatewayOptions) -> socket.socket:
    """Return a listening socket. If there are several processes, they share its port.

    The kernel also closes connections whose clients do not receive the sent data.
    """
    try:
        listener = socket.create_server(
            (address.host, address.port),
            family=socket.AF_INET6 if ":" in address.host else socket.AF_INET,
            reuse_port=options.processes > 1,
            backlog=BACKLOG,
            dualstack_ipv6=address.host == "::",
        )
    except OSError as error:
        raise ServerError(f"{address}: cannot be listened on: {error.strerror}") from error
    write_ms = min(round(1000 * options.limits.write_s), MAX_OPTION)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, write_ms)
    return listener


def _grpc_server(
    servicer: Servicer, options: GatewayOptions, certificate: Certificate | None
) -> grpc.aio.Server | None:
    if options.grpc is None:
        return None
    credentials = certificate.to_grpc() if certificate else None
    try:
        shares = options.processes > 1
        return make_server(servicer, options.grpc, credentials, shares_port=shares)
    except RuntimeError as error:
        raise ServerError(f"{options.grpc}: cannot be listened on: {error}") from error


def _certificate_of(options: GatewayOptions) -> Certificate | None:
    if options.certificate is None or options.private_key is None:
        return None
    return Certificate(options.certificate, options.private_key)
