"""One real Triton server for all integration tests of a run."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from orchestrator.client import PlateClient
from orchestrator.contract import ENCODED, PICTURE
from orchestrator.networks.weights import WEIGHTS
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server
from tests.integration.serving import run_gateway
from tests.serving.gateway.key_files import write_expiring_key

GREY = np.full((300, 400, 3), 128, np.uint8)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that processes two pictures at once, because more workers start more slowly."""
    with run_server(on_free_ports(prepare(ServerOptions(pictures=2)))) as running:
        yield running


@dataclass(frozen=True)
class InFront:
    """A gateway in front of the server."""

    options: GatewayOptions

    @property
    def url(self) -> str:
        """URL of its HTTP port."""
        return f"http://{self.options.http}"


@pytest.fixture(scope="session")
def gateway(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InFront]:
    folder = tmp_path_factory.mktemp("gateway")
    with run_gateway(
        GatewayOptions(
            triton_http=server.options.http_url,
            triton_grpc=server.options.grpc_url,
            triton_metrics=server.options.metrics_url,
            audit=folder / "audit.jsonl",
            keys=write_expiring_key(folder),
            canary=WEIGHTS,
            limits=Limits(calls=6),
        )
    ) as options:
        yield InFront(options)


@dataclass(frozen=True)
class Wire:
    """A protocol of the server: tritonclient's module, and the server's address."""

    module: object
    address: str
    url: str

    def pixels(self, array: np.ndarray, name: str = PICTURE) -> object:
        """Return an array as an input: a picture, or a network's input."""
        kinds = {"uint8": "UINT8", "float32": "FP32"}
        tensor = self.module.InferInput(name, list(array.shape), kinds[str(array.dtype)])
        tensor.set_data_from_numpy(array)
        return tensor

    def file(self, *files: bytes) -> object:
        """Return picture files as the input for encoded pictures."""
        tensor = self.module.InferInput(ENCODED, [len(files)], "BYTES")
        tensor.set_data_from_numpy(np.array(files, dtype=np.object_))
        return tensor


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
    """A plain tritonclient, over HTTP and over gRPC."""
    with wire.module.InferenceServerClient(wire.address) as client:
        yield client


@pytest.fixture
def client(wire: Wire) -> Iterator[PlateClient]:
    with PlateClient(wire.url) as client:
        yield client
