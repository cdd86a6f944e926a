"""A Triton and a gateway in front of it, on free ports, for as long as they are measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.gateway.measurement import BARE, GATEWAY, HOST, Ports
from orchestrator.gateway.options import Address, GatewayOptions, Limits
from orchestrator.gateway.process import start
from orchestrator.server.local import own_server
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import free_ports

PICTURES = 4  # in work where the cores do not say how many


@contextmanager
def open_services() -> Iterator[Ports]:
    """Run both for the length of a `with` block.

    Raises:
        ServerError: One of them cannot be started.
    """
    with own_server(ServerOptions()) as server:
        port, grpc_port = free_ports(2)
        capacity = server.capacity()
        gateway = start(
            GatewayOptions(
                triton_http=server.http_url,
                triton_grpc=server.grpc_url,
                triton_metrics=server.metrics_url,
                http=Address(HOST, port),
                grpc=Address(HOST, grpc_port),
                audit=Path(os.devnull),
                limits=Limits(calls=2 * (capacity.pictures if capacity else PICTURES)),
            )
        )
        try:
            pid = gateway.workers[0].process.pid
            yield Ports({BARE: server.http_port, GATEWAY: port}, pid)
        finally:
            gateway.stop()
