"""The gpu image's start script with a real Triton, the embedded one, on models that it exports."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from orchestrator import probe
from orchestrator.networks.engines import Engine
from orchestrator.server.capacity import fitting
from orchestrator.server.distribution import environment, find_distribution, lay_out_backends
from orchestrator.server.local import prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import free_ports
from orchestrator.server.repository import lay_out
from orchestrator.server.runtime import Runtime
from tests.waiting import until

SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "tritonserver.sh"


def post(url: str, content: dict, **headers: str) -> int:
    """Return the HTTP status of an answer."""
    body = json.dumps(content).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """HTTP and gRPC of a server that the script started; the embedded one stands in for NGC's."""
    repository = prepare(ServerOptions(engine=Engine.TORCHSCRIPT)).repository
    models = lay_out(repository, tmp_path / "models", Engine.TORCHSCRIPT, fitting(1))
    distribution = find_distribution()
    (tmp_path / "tritonserver").symlink_to(distribution.root / "bin" / "tritonserver")
    runtime = Runtime.make()
    variables = environment(ServerOptions(device="cpu"), distribution, runtime)
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    http, grpc, metrics = free_ports(3)
    ports = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    backends = f"--backend-directory={lay_out_backends(distribution, tmp_path)}"
    process = subprocess.Popen(
        ["sh", SCRIPT, *ports, backends],
        env={**variables, "PLATES_MODELS": str(models), "PLATES_ADMIN_KEY": "secret"},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"localhost:{http}", f"localhost:{grpc}"
    finally:
        process.terminate()
        process.wait()
        runtime.remove()


def test_the_script_serves_plates_and_locks_the_administration(urls: tuple[str, str]) -> None:
    http, grpc = urls
    until(lambda: probe.main(["--url", http]) == 0, "a server that reads the picture")

    assert post(f"http://{http}/v2/logging", {}) == 403
    assert post(f"http://{http}/v2/logging", {}, **{"plates-admin-key": "secret"}) == 200
    with InferenceServerClient(grpc) as client:
        with pytest.raises(InferenceServerException, match="restricted"):
            client.get_log_settings()
        key = {"triton-grpc-protocol-plates-admin-key": "secret"}
        assert client.get_log_settings(headers=key)
