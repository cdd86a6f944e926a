"""A Python model from one function: arrays in and out, in the order of config.pbtxt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils

from orchestrator.errors import ModelError
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.triton.failures import answer_each

Function = Callable[..., Sequence[npt.NDArray[Any]]]
"""A function that takes every input as an array and returns every output."""


class FunctionModel:
    """One instance of a model that is a function; a failing request does not affect others."""

    prepare: Callable[[], Function]

    def initialize(self, args: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.types = {
            tensor["name"]: pb_utils.triton_string_to_numpy(tensor["data_type"])
            for tensor in config["output"]
        }
        self.function = self.prepare()
        self.heartbeat = Heartbeat.of_model(config)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        return answer_each(requests, self._answer)

    def _answer(self, request: Any) -> list[Any]:
        with self.heartbeat.work([request.request_id()]):
            tensors = [pb_utils.get_input_tensor_by_name(request, name) for name in self.inputs]
            arrays = self.function(*[tensor.as_numpy() for tensor in tensors])
        outputs = zip(self.types.items(), arrays, strict=True)
        return [pb_utils.Tensor(name, _check(name, array, kind)) for (name, kind), array in outputs]


def _check(name: str, array: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """Return an output unchanged, if it has its type; Triton would not check the type itself."""
    if array.dtype != np.dtype(kind):
        raise ModelError(f"{name}: wanted {np.dtype(kind)} by config.pbtxt, got {array.dtype}")
    return array


def model_of(prepare: Callable[[], Function]) -> type[FunctionModel]:
    """Return the class `TritonPythonModel` that Triton expects in a model.py.

    Args:
        prepare: Makes the function; called once in each instance.
    """
    return type("TritonPythonModel", (FunctionModel,), {"prepare": staticmethod(prepare)})
