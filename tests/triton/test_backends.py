"""Both Python-based backends, each with a network in its own format."""

from importlib import import_module
from pathlib import Path

import numpy as np
import openvino
import openvino.opset13 as ops
import pytest
import torch
from torch import Tensor, nn

from tests.triton.fake_triton import arguments_of


class DoubledAndCounted(nn.Module):
    """Doubles rows [N, 2], and tells each how many rows there were in the call."""

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows * torch.tensor([2.0, 2.0]), torch.full((rows.shape[0], 1), float(rows.shape[0]))


def write_torchscript(path: Path) -> None:
    torch.jit.script(DoubledAndCounted()).save(str(path / "model.pt"))


def write_openvino(path: Path) -> None:
    rows = ops.parameter([-1, 2], np.float32)
    doubled = ops.multiply(rows, np.float32(2))
    count = ops.convert(ops.gather(ops.shape_of(rows), [0], 0), "f32")
    counted = ops.add(ops.reduce_sum(ops.multiply(rows, np.float32(0)), [1], True), count)
    openvino.save_model(openvino.Model([doubled, counted], [rows]), path / "model.xml")


@pytest.fixture(
    params=[
        pytest.param(("pytorch", write_torchscript), id="pytorch"),
        pytest.param(("openvino", write_openvino), id="openvino"),
    ]
)
def backend(request, triton, tmp_path: Path):
    name, write = request.param
    folder = tmp_path / "1"
    folder.mkdir()
    write(folder)
    model = import_module(f"orchestrator.triton.backends.{name}.model").TritonPythonModel()
    model.initialize(arguments_of(tmp_path))
    return model


@pytest.fixture
def ask(backend, triton):
    def send(*rows: list[list[float]]) -> list:
        tensors = [triton.Tensor("input__0", np.array(row, np.float32)) for row in rows]
        return backend.execute([triton.InferenceRequest(inputs=[tensor]) for tensor in tensors])

    return send


def answers(responses: list) -> list[dict[str, list[list[float]]]]:
    return [
        {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors()}
        for response in responses
    ]


def test_requests_are_one_call_and_split_again(ask) -> None:
    assert answers(ask([[1, 2]], [[3, 4], [5, 6]])) == [
        {"output__0": [[2, 4]], "output__1": [[3]]},
        {"output__0": [[6, 8], [10, 12]], "output__1": [[3], [3]]},
    ]


def test_the_bad_request_alone_fails_and_is_told_its_shape(ask, triton) -> None:
    good, bad = ask([[1, 2]], [[1, 2, 3]])
    assert answers([good]) == [{"output__0": [[2, 4]], "output__1": [[1]]}]
    assert bad.error().code() == triton.TritonError.INVALID_ARG
    assert bad.error().message().startswith("cannot infer on [1, 3]: ")


@pytest.mark.parametrize(
    ("parameters", "is_optimized"),
    [
        pytest.param({}, True, id="by default"),
        pytest.param({"string_value": "true"}, False, id="switched off"),
    ],
)
def test_torchscript_is_optimized_unless_the_config_says_otherwise(
    triton, parameters: dict[str, str], is_optimized: bool
) -> None:
    flags: list[bool] = []
    module = import_module("orchestrator.triton.backends.pytorch.model")
    model = module.TritonPythonModel()
    model.is_optimized = module._is_optimized({"parameters": {module.UNOPTIMIZED: parameters}})
    model.model = lambda rows: flags.append(torch._C._get_graph_executor_optimize()) or rows
    model.run_model(torch.zeros(1, 2))
    assert flags == [is_optimized]


@pytest.mark.parametrize(
    ("optimization", "is_graphed"),
    [
        pytest.param({}, False, id="by default"),
        pytest.param({"cuda": {"graphs": False}}, False, id="switched off"),
        pytest.param({"cuda": {"graphs": True}}, True, id="asked for"),
    ],
)
def test_a_network_runs_as_graphs_if_the_config_asks_for_them(
    triton, tmp_path: Path, optimization: dict[str, object], is_graphed: bool, capfd
) -> None:
    module = import_module("orchestrator.triton.backends.pytorch.model")
    (tmp_path / "1").mkdir()
    write_torchscript(tmp_path / "1")
    model = module.TritonPythonModel()
    model.initialize(arguments_of(tmp_path, optimization=optimization))
    doubled, _ = model.infer([torch.ones(1, 2)])
    assert doubled.tolist() == [[2, 2]]
    assert ("CUDA graphs" in capfd.readouterr().err) == is_graphed
