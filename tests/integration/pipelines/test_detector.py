"""A third-party detector in a real server, beside our other networks."""

from pathlib import Path

import pytest
import torch
from tritonclient.grpc import InferenceServerClient

from examples.detector.__main__ import write_weights
from orchestrator.client import PlateClient
from orchestrator.errors import WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import list_sums
from orchestrator.serving.supervisor.local_server import own_server, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from tests.examples.exports import write_export
from tests.samples import STREET, TEXTS, copy_of, copy_of_models


def test_a_street_is_read_while_another_engine_runs_the_other_networks(tmp_path: Path) -> None:
    """The detector accepts only pictures of 640x640, like most exports."""
    write_weights(write_export(tmp_path / "theirs.torchscript", (640, 640)), tmp_path / "mine")
    repository = copy_of_models(tmp_path)
    options = ServerOptions(
        repository=repository, weights=tmp_path / "mine", engine=Engine.OPENVINO, pictures=1
    )
    with own_server(options) as server_options, PlateClient(server_options.http_url) as client:
        assert set(client.recognize(STREET).texts) == set(TEXTS)
        with InferenceServerClient(server_options.grpc_url) as triton:
            detector = triton.get_model_config("yolo").config
            reader = triton.get_model_config("lprnet").config
    assert (detector.backend, reader.backend) == ("pytorch", "openvino")


def test_one_that_breaks_the_contract_stops_the_server_from_starting(tmp_path: Path) -> None:
    folder, repository = copy_of("weights", tmp_path), copy_of("model_repository", tmp_path)
    torch.jit.save(torch.jit.script(torch.nn.Identity()), folder / "yolo.pt")
    list_sums(folder)
    with pytest.raises(WeightsError, match=r"yolo\.pt: 160x96 pictures: wanted float32 \[1, K, 6"):
        prepare(ServerOptions(repository=repository, weights=folder))
