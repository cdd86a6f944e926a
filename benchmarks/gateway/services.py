"""A Triton and a gateway in front of it, on free ports, for as long as they are measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.gateway.measurement import BARE, GATEWAY, HOST, Ports
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.gateway.process import start
from orchestrator.server.local import own_server
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import free_ports


@contextmanager
def open_services() -> Iterator[Ports]:
    """Run both for the length of a `with` block.

    Raises:
        ServerError: One of them cannot be started.
    """
    with own_server(ServerOptions()) as server:
        port, grpc_port = free_ports(2)
        flags = GatewayFlags(
            http=f"{HOST}:{port}", grpc=f"{HOST}:{grpc_port}", audit=Path(os.devnull)
        )
        gateway = start(flags.to_options(server))
        try:
            pid = gateway.workers[0].process.pid
            yield Ports({BARE: server.http_port, GATEWAY: port}, pid)
        finally:
            gateway.stop()
