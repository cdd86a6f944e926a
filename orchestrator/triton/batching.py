"""The base of Python-based backends: joins requests into one batch and splits the answer."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import triton_python_backend_utils as pb_utils

from orchestrator.host.heartbeat import Heartbeat
from orchestrator.triton.memory_faults import (
    end_process,
    free_memory,
    has_broken_context,
    is_out_of_memory,
)
from orchestrator.triton.request_log import explain, log_failure


class Batch(Protocol):
    """An array of any library, with the rows along the first axis."""

    shape: Any

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Batch)
Shapes = tuple[tuple[int, ...], ...]
"""Shapes of one row of each input, or of each whole input if the model never batches."""

MAX_SHAPES = 1000
"""Largest number of remembered shapes; pictures have few sizes in multiples of 32."""

RAISED_IN_TORCHSCRIPT = "builtins.RuntimeError: "
"""Prefix of the message of a module that rejects its input."""


class BatchingModel(ABC, Generic[ArrayT]):
    """One instance of a served network. It handles one call, a list of requests, at a time.

    A backend says how its library takes, joins, runs and gives arrays. A request that fails gets
    its own error; the others are answered.

    An error is either the client's or the network's own. Triton compares types and fixed dimensions
    with config.pbtxt before it calls. So a request can be wrong only in a dimension that
    config.pbtxt leaves open (-1). The error is INVALID_ARG if there is such a dimension, no input
    of that shape was ever answered, and memory has not run out. All other errors are INTERNAL: the
    network's own fault.
    """

    def configure(self, args: Mapping[str, str], default_file: str) -> Path:
        """Store the tensors' names; return the file to load.

        Args:
            args: The arguments that Triton passes to `initialize`.
            default_file: Name of the model's file if config.pbtxt names none.
        """
        config = json.loads(args["model_config"])
        self.inputs = in_order([entry["name"] for entry in config["input"]])
        self.outputs = in_order([entry["name"] for entry in config["output"]])
        self.is_open = any(int(size) < 0 for entry in config["input"] for size in entry["dims"])
        self.batch_axes = 1 if int(config["max_batch_size"]) else 0
        self.answered: set[Shapes] = set()
        self.heartbeat = Heartbeat.of_model(config)
        name = config["default_model_filename"] or default_file
        return Path(args["model_repository"], args["model_version"], name)

    @abstractmethod
    def read_tensor(self, tensor: Any) -> ArrayT:
        """Return a Triton tensor's memory as an array, without a copy."""

    @abstractmethod
    def concatenate(self, parts: Sequence[ArrayT]) -> ArrayT:
        """Concatenate arrays along the first axis."""

    @abstractmethod
    def infer(self, inputs: Sequence[ArrayT]) -> tuple[ArrayT, ...]:
        """Run the network."""

    @abstractmethod
    def make_tensor(self, name: str, array: ArrayT) -> Any:
        """Return an array as a Triton tensor."""

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        calls = [request.request_id() for request in requests]
        with self.heartbeat.work(calls):
            try:
                rows = [self._row(request) for request in requests]
                self.heartbeat.take(calls, _list_shapes(rows))
                return [self._response(answer) for answer in self._infer_batch(rows)]
            except Exception as error:  # find the request at fault; the others are answered
                if has_broken_context(error):
                    end_process(error)
                free_memory(error)
                return [self._respond_alone(request) for request in requests]

    def _row(self, request: Any) -> tuple[ArrayT, ...]:
        tensors = (pb_utils.get_input_tensor_by_name(request, name) for name in self.inputs)
        return tuple(self.read_tensor(tensor) for tensor in tensors)

    def _infer_batch(self, rows: Sequence[tuple[ArrayT, ...]]) -> list[tuple[ArrayT, ...]]:
        if len(rows) == 1:
            return [self._infer(rows[0])]
        batch = self._infer([self.concatenate(column) for column in zip(*rows, strict=True)])
        answers, start = [], 0
        for row in rows:
            end = start + len(row[0])
            answers.append(tuple(column[start:end] for column in batch))
            start = end
        return answers

    def _infer(self, inputs: Sequence[ArrayT]) -> tuple[ArrayT, ...]:
        answer = self.infer(inputs)
        if self.is_open and len(self.answered) < MAX_SHAPES:
            self.answered.add(self._shapes(inputs))
        return answer

    def _respond_alone(self, request: Any) -> Any:
        row: tuple[ArrayT, ...] = ()
        try:
            row = self._row(request)
            self.heartbeat.take([request.request_id()], _list_shapes([row]))
            return self._response(self._infer(row))
        except Exception as error:
            if has_broken_context(error):
                end_process(error)
            free_memory(error)
            message = describe_failure(row, error)
            code, error_type = self._code_of(row, error), pb_utils.TritonError
            if code == error_type.INTERNAL:
                log_failure(request.request_id(), explain(error))
            return pb_utils.InferenceResponse(error=error_type(message, code))

    def _code_of(self, row: Sequence[ArrayT], error: Exception) -> Any:
        may_be_wrong = self.is_open and row and self._shapes(row) not in self.answered
        codes = pb_utils.TritonError
        return codes.INVALID_ARG if may_be_wrong and not is_out_of_memory(error) else codes.INTERNAL

    def _shapes(self, inputs: Iterable[Batch]) -> Shapes:
        """Return the shapes without the batch; a model that never batches has none."""
        return tuple(tuple(array.shape[self.batch_axes :]) for array in inputs)

    def _response(self, row: tuple[ArrayT, ...]) -> Any:
        pairs = zip(self.outputs, row, strict=True)
        return pb_utils.InferenceResponse([self.make_tensor(name, array) for name, array in pairs])


def in_order(names: Sequence[str]) -> list[str]:
    """Return tensors in a network's order: by number (`output__1`), else as in config.pbtxt.

    Source: Triton Inference Server, "PyTorch Backend", naming convention.
    """
    numbered = {name: name.rpartition("__")[2] for name in names}
    if all(number.isdecimal() for number in numbered.values()):
        return sorted(names, key=lambda name: int(numbered[name]))
    return [*names]


def describe_failure(inputs: Sequence[Batch], error: Exception) -> str:
    """Return the message for the client when a network fails on these inputs."""
    return f"cannot infer on {_list_shapes([inputs]) or 'the input'}: {_last_line(error)}"


def _list_shapes(rows: Iterable[Sequence[Batch]]) -> str:
    """Return the shapes of requests' inputs as text."""
    return ", ".join(str(list(array.shape)) for row in rows for array in row)


def _last_line(error: Exception) -> str:
    last = str(error).strip().rpartition("\n")[2]
    return last.removeprefix(RAISED_IN_TORCHSCRIPT) or type(error).__name__
