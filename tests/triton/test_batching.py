"""Python-based backends: requests become one batch, and each fault is assigned to its request."""

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

FIXED, OPEN = ["2"], ["-1"]
Array = np.ndarray


@pytest.fixture
def make(triton):
    """Make a served network of one function, and configure it for dimensions."""
    batching = import_module("orchestrator.triton.batching")

    class Served(batching.BatchingModel[Array]):
        def __init__(self, network: Callable[[Array], Array], dims: list[str]) -> None:
            self.network = network
            self.calls: list[int] = []
            self.path = self.configure(args(dims), "model.net")

        def read_tensor(self, tensor: object) -> Array:
            return tensor.as_numpy()

        def concatenate(self, parts: Sequence[Array]) -> Array:
            return np.concatenate(parts)

        def infer(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
            (rows,) = inputs
            self.calls.append(len(rows))
            return (self.network(rows),)

        def make_tensor(self, name: str, array: Array) -> object:
            return triton.Tensor(name, array)

        def ask(self, *rows: list[list[float]]) -> list:
            tensors = [triton.Tensor("input__0", np.array(row, np.float32)) for row in rows]
            return self.execute([triton.InferenceRequest(inputs=[tensor]) for tensor in tensors])

    return Served


def args(dims: list[str], file: str = "", *, max_batch_size: int = 32) -> dict[str, str]:
    config = {
        "max_batch_size": max_batch_size,
        "input": [{"name": "input__0", "data_type": "TYPE_FP32", "dims": dims}],
        "output": [{"name": "output__0", "data_type": "TYPE_FP32", "dims": dims}],
        "default_model_filename": file,
    }
    return {
        "model_config": json.dumps(config),
        "model_repository": "/models/net",
        "model_version": "3",
    }


def double(rows: Array) -> Array:
    return 2 * rows


def double_of_pairs(rows: Array) -> Array:
    if rows.shape[1] != 2:
        raise ValueError("the network:\nwanted pairs")
    return 2 * rows


def double_of_some(rows: Array) -> Array:
    if not len(rows):
        raise ValueError("no rows")
    return 2 * rows


def double_of_positives(rows: Array) -> Array:
    if (rows < 0).any():
        raise RuntimeError("overflow")
    return 2 * rows


def answers(responses: list) -> list[list[list[float]]]:
    return [response.output_tensors()[0].as_numpy().tolist() for response in responses]


def error(response) -> tuple[str, str]:
    return response.error().code(), response.error().message()


def test_the_file_lies_in_the_models_version_under_the_name_of_the_config(make) -> None:
    net = make(double, FIXED)
    assert net.path == Path("/models/net/3/model.net")
    assert net.configure(args(FIXED, "other.net"), "model.net") == Path("/models/net/3/other.net")


@pytest.mark.parametrize(
    ("names", "inputs"),
    [
        pytest.param(["input__10", "input__2"], ["input__2", "input__10"], id="by number"),
        pytest.param(["pixels", "gain__0"], ["pixels", "gain__0"], id="as in the config"),
    ],
)
def test_tensors_have_an_order(make, names: list[str], inputs: list[str]) -> None:
    net, arguments = make(double, FIXED), args(FIXED)
    config = json.loads(arguments["model_config"])
    config["input"] = [{"name": name, "dims": ["2"]} for name in names]
    net.configure(arguments | {"model_config": json.dumps(config)}, "model.net")
    assert net.inputs == inputs


def test_no_requests_are_no_answers(make) -> None:
    assert make(double, FIXED).execute([]) == []


def test_one_request_goes_to_the_network_without_a_copy(make, triton) -> None:
    array = np.array([[1, 2]], np.float32)
    request = triton.InferenceRequest(inputs=[triton.Tensor("input__0", array)])
    (response,) = make(lambda rows: rows, FIXED).execute([request])
    assert np.shares_memory(response.output_tensors()[0].as_numpy(), array)


def test_requests_are_one_call_and_split_again_in_order(make) -> None:
    net = make(double, FIXED)
    assert answers(net.ask([[1, 2]], [[3, 4], [5, 6]], [[7, 8]])) == [
        [[2, 4]],
        [[6, 8], [10, 12]],
        [[14, 16]],
    ]
    assert net.calls == [4]


def test_of_a_batch_the_bad_request_alone_fails(make) -> None:
    first, bad, last = make(double_of_positives, FIXED).ask([[1, 2]], [[-1, 0]], [[3, 4]])
    assert answers([first, last]) == [[[2, 4]], [[6, 8]]]
    assert bad.has_error()


def test_requests_of_different_shapes_are_answered_one_by_one(make) -> None:
    assert answers(make(double, OPEN).ask([[1]], [[2, 3]])) == [[[2]], [[4, 6]]]


def test_a_shape_that_the_network_cannot_take_is_the_requests_fault(make, triton) -> None:
    (response,) = make(double_of_pairs, OPEN).ask([[1, 2, 3]])
    message = "cannot infer on [1, 3]: wanted pairs"
    assert error(response) == (triton.TritonError.INVALID_ARG, message)


def test_a_network_that_fails_on_the_configured_shape_is_at_fault_itself(
    make, triton, capfd
) -> None:
    (response,) = make(double_of_positives, FIXED).ask([[-1, 0]])
    message = "cannot infer on [1, 2]: overflow"
    assert error(response) == (triton.TritonError.INTERNAL, message)
    (line,) = capfd.readouterr().err.splitlines()
    assert f'{__file__}", line ' in json.loads(line)["traceback"]


def test_a_shape_that_the_network_cannot_take_is_not_logged(make, capfd) -> None:
    make(double_of_pairs, OPEN).ask([[1, 2, 3]])
    assert capfd.readouterr().err == ""


def test_a_network_that_fails_on_a_shape_it_took_before_is_at_fault_itself(make, triton) -> None:
    net = make(double_of_positives, OPEN)
    net.ask([[1, 2]])
    (response,) = net.ask([[-1, 0], [0, 0]])
    assert error(response)[0] == triton.TritonError.INTERNAL


def test_shapes_are_remembered_up_to_a_bound(make, triton) -> None:
    net = make(double_of_positives, OPEN)
    for width in range(1, 1002):
        net.ask([[1] * width])
    (last,), (next_response,) = net.ask([[-1] * 1000]), net.ask([[-1] * 1001])
    assert error(last)[0] == triton.TritonError.INTERNAL
    assert error(next_response)[0] == triton.TritonError.INVALID_ARG


def test_a_model_that_never_batches_has_no_rows_to_leave_out_of_a_shape(make, triton) -> None:
    net = make(double_of_some, OPEN)
    net.configure(args(OPEN, max_batch_size=0), "model.net")
    net.ask([[1, 2]])
    (response,) = net.ask(np.empty((0, 2)))
    assert error(response) == (triton.TritonError.INVALID_ARG, "cannot infer on [0, 2]: no rows")


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(RuntimeError("CUDA out of memory. Tried to ..."), id="pytorch on a GPU"),
        pytest.param(RuntimeError("DefaultCPUAllocator: can't allocate memory"), id="pytorch"),
        pytest.param(RuntimeError("Failed to allocate 8589934592 bytes"), id="openvino"),
        pytest.param(MemoryError(), id="numpy"),
    ],
)
def test_want_of_memory_is_no_fault_of_the_request(make, triton, reason: Exception) -> None:
    def network(rows: Array) -> Array:
        raise reason

    (response,) = make(network, OPEN).ask([[1, 2]])
    assert error(response)[0] == triton.TritonError.INTERNAL


def test_memory_of_a_batch_is_free_before_its_requests_are_repeated(
    make, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[int | str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: events.append("freed"))

    def network(rows: Array) -> Array:
        events.append(len(rows))
        if len(rows) != 1 or rows[0][0] == 3:
            raise MemoryError
        return rows

    first, second = make(network, OPEN).ask([[1, 2]], [[3, 4]])
    assert events == [2, "freed", 1, 1, "freed"]
    assert not first.has_error()
    assert second.has_error()


class Ended(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("requests", [1, 2])
def test_a_worker_with_a_broken_cuda_context_ends(
    make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], requests: int
) -> None:
    def network(rows: Array) -> Array:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr("os._exit", end)
    with pytest.raises(Ended, match="1"):
        make(network, OPEN).ask(*[[[1, 2]]] * requests)
    assert "illegal memory access" in capfd.readouterr().err


def test_a_request_that_cannot_be_taken_fails_alone(make, triton) -> None:
    net = make(double, OPEN)
    good = triton.Tensor("input__0", np.ones((1, 2), np.float32))
    requests = [triton.InferenceRequest(), triton.InferenceRequest(inputs=[good])]
    empty, full = net.execute(requests)
    assert error(empty)[0] == triton.TritonError.INTERNAL
    assert error(empty)[1].startswith("cannot infer on the input: ")
    assert answers([full]) == [[[2, 2]]]
