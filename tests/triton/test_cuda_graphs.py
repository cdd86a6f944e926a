"""Shapes, buffers and answers of graphs, with a stand-in for what a GPU captures."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from orchestrator.triton.cuda_graphs import Graph, GraphedNetwork, Network


class Double:
    """A network that doubles its input, and counts how often it runs as a network."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, rows: Tensor) -> tuple[Tensor, ...]:
        if rows.shape[-1] == 3:
            raise RuntimeError("wanted 2 columns")
        self.runs += 1
        return (rows * 2,)


class Recording:
    """Captures as a GPU does: a replay reads and writes the same memory each time."""

    def __init__(self, *failing: list[int]) -> None:
        self.failing, self.shapes = failing, []

    def __call__(self, network: Network, inputs: Sequence[Tensor]) -> Graph:
        shape = [*inputs[0].shape]
        if shape in self.failing:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.shapes.append(shape)
        copies = [tensor.clone() for tensor in inputs]
        outputs = [copies[0] * 2]
        return Graph(copies, outputs, lambda: outputs[0].copy_(copies[0] * 2))


def rows(count: int, value: float = 1.0) -> Tensor:
    return torch.full((count, 2), value)


def test_the_first_inference_on_a_shape_is_captured_and_the_next_ones_are_replayed() -> None:
    network, capture = Double(), Recording()
    run = GraphedNetwork(network, capture)
    answers = [run(rows(1, value))[0].tolist() for value in (1.0, 2.0, 3.0)]
    assert answers == [[[2, 2]], [[4, 4]], [[6, 6]]]
    assert (network.runs, capture.shapes) == (1, [[1, 2]])


def test_each_shape_has_its_own_graph() -> None:
    network, capture = Double(), Recording()
    run = GraphedNetwork(network, capture)
    for count in (1, 2, 1, 2):
        assert run(rows(count, 5.0))[0].tolist() == [[10, 10]] * count
    assert (network.runs, capture.shapes) == (2, [[1, 2], [2, 2]])


def test_a_later_replay_does_not_overwrite_an_answer() -> None:
    run = GraphedNetwork(Double(), Recording())
    run(rows(1))
    (earlier,), (later,) = run(rows(1, 2.0)), run(rows(1, 3.0))
    assert (earlier.tolist(), later.tolist()) == ([[4, 4]], [[6, 6]])


def test_a_replay_leaves_its_input_unchanged() -> None:
    run, tensor = GraphedNetwork(Double(), Recording()), rows(1, 7.0)
    run(rows(1))
    run(tensor)
    assert tensor.tolist() == [[7, 7]]


def test_further_shapes_than_the_most_run_without_a_graph(capfd: pytest.CaptureFixture) -> None:
    network, capture = Double(), Recording()
    run = GraphedNetwork(network, capture, max_graphs=2)
    for count in (1, 2, 3, 4, 3, 1):
        assert run(rows(count))[0].tolist() == [[2, 2]] * count
    assert (network.runs, capture.shapes) == (5, [[1, 2], [2, 2]])
    assert capfd.readouterr().err == "no further CUDA graphs: there are 2\n"


def test_a_failed_capture_is_logged_once_and_what_is_captured_stays(
    capfd: pytest.CaptureFixture,
) -> None:
    network, capture = Double(), Recording([2, 2])
    run = GraphedNetwork(network, capture)
    for count in (1, 2, 2, 3, 1):
        assert run(rows(count))[0].tolist() == [[2, 2]] * count
    assert (network.runs, capture.shapes) == (4, [[1, 2]])
    assert capfd.readouterr().err == (
        "no further CUDA graphs: [[2, 2]] cannot be captured: "
        "operation not permitted when stream is capturing\n"
    )


def test_an_input_that_the_network_rejects_does_not_end_the_captures() -> None:
    capture = Recording()
    run = GraphedNetwork(Double(), capture)
    with pytest.raises(RuntimeError, match="wanted 2 columns"):
        run(torch.zeros(1, 3))
    run(rows(1))
    assert capture.shapes == [[1, 2]]


@pytest.mark.skipif(torch.cuda.is_available(), reason="captures there")
def test_without_a_gpu_the_network_runs_as_it_is(capfd: pytest.CaptureFixture) -> None:
    run = GraphedNetwork(Double())
    assert [run(rows(1))[0].tolist() for _ in range(2)] == [[[2, 2]]] * 2
    assert capfd.readouterr().err.startswith("no further CUDA graphs: [[1, 2]] cannot be captured")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_graphs_on_a_gpu_answer_as_the_network_does() -> None:
    network = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    network.cuda()
    run = GraphedNetwork(lambda inputs: (network(inputs),))
    with torch.inference_mode():
        inputs = [torch.rand(count, 2, device="cuda") for count in (1, 4, 1, 4, 1)]
        answers = [run(tensor)[0] for tensor in inputs]
        references = [network(tensor) for tensor in inputs]
    torch.testing.assert_close(answers, references)
