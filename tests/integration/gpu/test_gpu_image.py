"""The gpu image's Triton, models and options, tested on a CPU."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from orchestrator import PlateClient
from orchestrator.contract import DETECTOR, INPUT
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import EXPORTED
from orchestrator.serving.supervisor import triton_start
from orchestrator.serving.supervisor.capacity import fitting_gpu
from orchestrator.serving.supervisor.installation import STUB, Installation, find_installation
from orchestrator.serving.supervisor.local_server import own_server, prepare
from orchestrator.serving.supervisor.models.repository_writer import lay_out
from orchestrator.serving.supervisor.options import ServerOptions
from tests.samples import STREET, TEXTS


def place(folder: Path) -> Installation:
    """Lay out the embedded Triton as in NGC's images, with a false PyTorch backend."""
    embedded = find_installation()
    (folder / "bin").mkdir(parents=True)
    shutil.copy(embedded.program, folder / "bin")
    shutil.copytree(embedded.backends / "python", folder / "backends" / "python")
    stub = folder / "backends" / "python" / STUB
    stub.unlink(missing_ok=True)
    shutil.copy(embedded.stub, stub)
    (folder / "backends" / "pytorch").mkdir()
    (folder / "backends" / "pytorch" / "libtriton_pytorch.so").write_bytes(b"another PyTorch's")
    return Installation(folder, stub, embedded.libraries)


def write_models(folder: Path) -> Path:
    """Write the model repository for a GPU, with every model on the CPU."""
    options = prepare(ServerOptions(engine=Engine.TORCHSCRIPT, device="cpu"))
    lay_out(options.source(), folder, fitting_gpu(pictures=1))
    for config in folder.glob("*/config.pbtxt"):
        config.write_text(config.read_text().replace("KIND_GPU", "KIND_CPU"))
    return folder


@pytest.fixture(scope="module")
def server_options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerOptions]:
    folder = tmp_path_factory.mktemp("gpu-image")
    installation = place(folder / "tritonserver")
    models = write_models(folder / "models")
    options = ServerOptions(
        repository=models, engine=Engine.TORCHSCRIPT, device="cpu", pictures=1,
        tritonserver=installation.program,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triton_start, "find_installation", lambda _: installation)
        with own_server(options) as server:
            yield server


def test_its_models_read_on_a_cpu_through_our_backend(server_options: ServerOptions) -> None:
    with PlateClient(server_options.http_url) as client:
        assert sorted(client.recognize(STREET).texts) == sorted(TEXTS)


def test_its_networks_run_in_workers_of_ours(server_options: ServerOptions) -> None:
    with triton.InferenceServerClient(server_options.http_url) as client:
        configs = [client.get_model_config(name) for name in EXPORTED]
    assert {config["backend"] for config in configs} == {"pytorch"}
    assert {group["kind"] for config in configs for group in config["instance_group"]} == {
        "KIND_CPU"
    }


def test_a_wrong_input_is_the_callers_error(server_options: ServerOptions) -> None:
    tensor = triton.InferInput(INPUT, [1, 50, 70, 3], "UINT8")
    tensor.set_data_from_numpy(np.zeros((1, 50, 70, 3), np.uint8))
    with (
        triton.InferenceServerClient(server_options.http_url) as client,
        pytest.raises(InferenceServerException) as caught,
    ):
        client.infer(DETECTOR, [tensor])
    assert caught.value.status() == "400"
    assert "[1, 50, 70, 3]" in caught.value.message()
