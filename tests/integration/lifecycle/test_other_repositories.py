"""Model repositories that are not ours, alone, beside ours, and loaded on demand."""

import os
import signal
import subprocess
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

from orchestrator.client import PlateClient
from orchestrator.errors import ServerError
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.integration.doubling import write_doubling
from tests.integration.serving import serve
from tests.samples import PLATES, STREET, TEXTS
from tests.waiting import until


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_doubling(tmp_path, "double", "TYPE_FP32")
    return tmp_path


def double(client: triton.InferenceServerClient) -> list[float]:
    tensor = triton.InferInput("x", [2], "FP32")
    tensor.set_data_from_numpy(np.array([1, 2], np.float32))
    answer: list[float] = client.infer("double", [tensor]).as_numpy("y").tolist()
    return answer


def test_models_of_others_are_served_beside_ours_and_their_killed_worker_is_replaced(
    tmp_path: Path,
) -> None:
    two = "instance_group [ { count: 2 kind: KIND_CPU } ]"  # one lives while both are replaced
    write_doubling(tmp_path, "double", "TYPE_FP32", two)
    with serve("--one-model", "--beside", tmp_path, "--model=double") as serving:
        with PlateClient(serving.url) as plates:
            assert sorted(plates.recognize(STREET).texts) == sorted(TEXTS)
        workers, tritons = serving.workers("double"), serving.tritons()
        os.kill(min(workers), signal.SIGKILL)
        until(lambda: len(serving.workers("double") - workers) == 2, "two new workers")
        with triton.InferenceServerClient(serving.grpc) as client:
            until(lambda: client.is_model_ready("double"), "a model that is loaded again")
            assert double(client) == [2, 4]
        assert serving.tritons() == tritons
        assert serving.process.poll() is None


def test_a_model_of_others_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    write_doubling(tmp_path, "broken", "TYPE_FP32")
    (tmp_path / "broken" / "1" / "model.py").write_text("import nowhere_to_be_found")

    with (
        pytest.raises(ServerError, match=r"broken: .*No module named 'nowhere_to_be_found'"),
        own_server(ServerOptions(repository=tmp_path)),
    ):
        pass


def test_a_repository_of_others_is_served_as_it_lies_and_named(repository: Path) -> None:
    http, grpc, metrics = free_ports(3)
    ports = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    command = [PLATES, "serve", "--model-repository", repository, "--no-gateway", *ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = list(takewhile(lambda line: "Ctrl-C" not in line, process.stdout))
        with triton.InferenceServerClient(f"localhost:{grpc}") as client:
            assert double(client) == [2, 4]
            assert not client.is_model_ready("plate_recognition")
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert "models: double\n" in lines
    assert f"  gRPC     localhost:{grpc}\n" in lines
