"""Runs a Triton server and a gateway in front of it, on free ports, during a measurement."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.gateway.launcher import start
from orchestrator.supervisor.local_server import own_server
from orchestrator.supervisor.options import ServerOptions
from workshop.benchmarks.gateway.measurement import BARE, GATEWAY, Ports


@contextmanager
def open_services() -> Iterator[Ports]:
    """Run both servers for the length of a `with` block.

    Raises:
        ServerError: One of the servers cannot be started.
    """
    with own_server(ServerOptions()) as server:
        flags = GatewayFlags(http_port=0, grpc_port=0, metrics_port=0, audit=Path(os.devnull))
        gateway = start(flags.to_options(server))
        try:
            pid = gateway.workers[0].process.pid
            yield Ports({BARE: server.http_port, GATEWAY: gateway.options.http.port}, pid)
        finally:
            gateway.stop()
