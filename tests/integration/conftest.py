"""One real Triton server for all integration tests of a run."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from orchestrator.client import PlateClient
from orchestrator.loopback import without_proxy
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import Server, run_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration" in item.path.parts:
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session", autouse=True)
def _no_proxy() -> None:
    """Let plain clients reach loopback where this shell has a proxy."""
    os.environ.update(without_proxy(os.environ))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with run_server(on_free_ports(prepare(ServerOptions()))) as started:
        yield started


@dataclass(frozen=True)
class Wire:
    """A protocol of the server: tritonclient's module for it, and where it listens."""

    module: object
    address: str
    url: str


@pytest.fixture(params=["http", "grpc"])
def wire(request: pytest.FixtureRequest, server: Server) -> Wire:
    import tritonclient.grpc
    import tritonclient.http

    if request.param == "http":
        return Wire(tritonclient.http, server.options.http_url, server.options.http_url)
    address = server.options.grpc_url
    return Wire(tritonclient.grpc, address, f"grpc://{address}")


@pytest.fixture
def triton(wire: Wire) -> Iterator[object]:
    """A plain tritonclient, once over HTTP and once over gRPC."""
    with wire.module.InferenceServerClient(wire.address) as client:
        yield client


@pytest.fixture
def client(wire: Wire) -> Iterator[PlateClient]:
    with PlateClient(wire.url) as client:
        yield client
