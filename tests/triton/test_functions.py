"""A Python model that is one function."""

import json
import os
import re
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest

from orchestrator.errors import PictureError
from orchestrator.host.heartbeat import Heartbeat, State, read

CONFIG = {
    "input": [{"name": "a", "data_type": "TYPE_FP32"}, {"name": "b", "data_type": "TYPE_FP32"}],
    "output": [{"name": "sum", "data_type": "TYPE_FP32"}, {"name": "n", "data_type": "TYPE_INT32"}],
}


@pytest.fixture
def serve(triton, monkeypatch):
    """Make one instance of a model that is a function."""
    types = {"TYPE_FP32": np.float32, "TYPE_INT32": np.int32}
    monkeypatch.setattr(triton, "triton_string_to_numpy", types.__getitem__, raising=False)
    functions = import_module("orchestrator.triton.functions")
    monkeypatch.setattr(functions, "pb_utils", triton)
    monkeypatch.setattr(import_module("orchestrator.triton.failures"), "pb_utils", triton)

    def make(function: Callable):
        model = functions.model_of(lambda: function)()
        model.initialize({"model_config": json.dumps(CONFIG)})
        return model

    return make


@pytest.fixture
def request_of(triton):
    def make(a: float, b: float):
        tensors = [triton.Tensor("b", np.float32([b])), triton.Tensor("a", np.float32([a]))]
        return triton.InferenceRequest(inputs=tensors)

    return make


def subtract(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return a - b, np.array([len(a)], np.int32)


def refuse_three(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if a[0] == 3:
        raise PictureError("a: wanted another number, got 3")
    return subtract(a, b)


def test_inputs_and_outputs_have_the_order_of_the_configuration(serve, request_of) -> None:
    (response,) = serve(subtract).execute([request_of(5, 2)])
    answer = {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors()}
    assert answer == {"sum": [3], "n": [1]}


def test_a_worker_says_which_request_it_has(serve, request_of, tmp_path) -> None:
    prefix, states = str(tmp_path / "beat_"), []

    def look(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states.append(read(prefix, os.getpid()).state)
        return subtract(a, b)

    model = serve(look)
    model.heartbeat = Heartbeat(2.5, prefix)
    model.execute([request_of(5, 2)])
    assert [*states, read(prefix, os.getpid()).state] == [State.WORKING, State.IDLE]


def test_each_request_is_answered_and_only_the_wrong_one_refused(
    serve, request_of, triton, capfd
) -> None:
    first, second, third = serve(refuse_three).execute([request_of(a, 1) for a in (2, 3, 4)])
    assert json.loads(capfd.readouterr().err)["message"] == "a: wanted another number, got 3"
    assert second.error().message() == "a: wanted another number, got 3"
    assert second.error().code() == triton.TritonError.INVALID_ARG
    assert [first.has_error(), third.has_error()] == [False, False]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        pytest.param(lambda a, b: 1 / 0, "^ZeroDivisionError: division by zero$", id="fails"),
        pytest.param(
            lambda a, b: (a, np.array([1], np.int64)),
            "^n: wanted int32 by config.pbtxt, got int64$",
            id="another type",
        ),
        pytest.param(lambda a, b: (a,), "ValueError", id="another number of outputs"),
    ],
)
def test_a_fault_of_the_function_is_told_as_ours(
    serve, request_of, triton, function: Callable, message: str
) -> None:
    (response,) = serve(function).execute([request_of(1, 1)])
    assert re.search(message, response.error().message())
    assert response.error().code() == triton.TritonError.INTERNAL


def test_an_instance_prepares_once(serve, request_of) -> None:
    model = serve(subtract)
    model.prepare = pytest.fail
    assert len(model.execute([request_of(1, 1)] * 2)) == 2
