"""What Python-based backends share: a list of requests becomes one batch and is split again."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import triton_python_backend_utils as pb_utils


class Batch(Protocol):
    """An array of whichever library; rows along the first axis."""

    shape: Any

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Batch)


class BatchingModel(ABC, Generic[ArrayT]):
    """One instance of a served network: one call at a time, each a list of requests.

    A backend says how its library takes, joins, runs and gives arrays. A request that cannot be
    inferred gets an error of its own; the others are answered.
    """

    def configure(self, args: Mapping[str, str], default_file: str) -> Path:
        """Note the tensors' names; return the file to load.

        Args:
            args: What Triton gives to `initialize`.
            default_file: Name of the model's file where config.pbtxt names none.
        """
        config = json.loads(args["model_config"])
        self.inputs = sorted((entry["name"] for entry in config["input"]), key=_index)
        self.outputs = sorted((entry["name"] for entry in config["output"]), key=_index)
        name = config["default_model_filename"] or default_file
        return Path(args["model_repository"], args["model_version"], name)

    @abstractmethod
    def take(self, tensor: Any) -> ArrayT:
        """Return a Triton tensor's memory as an array, without a copy."""

    @abstractmethod
    def join(self, parts: Sequence[ArrayT]) -> ArrayT:
        """Concatenate along the first axis."""

    @abstractmethod
    def infer(self, inputs: Sequence[ArrayT]) -> tuple[ArrayT, ...]:
        """Run the network."""

    @abstractmethod
    def give(self, name: str, array: ArrayT) -> Any:
        """Return an array as a Triton tensor."""

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        rows = [self._row(request) for request in requests]
        try:
            answers = self._infer_batch(rows)
        except Exception:  # find the request that is to blame; the others are answered
            return [self._respond_alone(row) for row in rows]
        return [self._response(answer) for answer in answers]

    def _row(self, request: Any) -> tuple[ArrayT, ...]:
        tensors = (pb_utils.get_input_tensor_by_name(request, name) for name in self.inputs)
        return tuple(self.take(tensor) for tensor in tensors)

    def _infer_batch(self, rows: Sequence[tuple[ArrayT, ...]]) -> list[tuple[ArrayT, ...]]:
        if len(rows) == 1:
            return [self.infer(rows[0])]
        batch = self.infer([self.join(column) for column in zip(*rows, strict=True)])
        answers, start = [], 0
        for row in rows:
            end = start + len(row[0])
            answers.append(tuple(column[start:end] for column in batch))
            start = end
        return answers

    def _respond_alone(self, row: tuple[ArrayT, ...]) -> Any:
        try:
            return self._response(self.infer(row))
        except Exception as error:
            shapes = ", ".join(str(list(array.shape)) for array in row)
            message = f"cannot infer on {shapes}: {_last_line(error)}"
            code = pb_utils.TritonError.INVALID_ARG
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))

    def _response(self, row: tuple[ArrayT, ...]) -> Any:
        pairs = zip(self.outputs, row, strict=True)
        return pb_utils.InferenceResponse([self.give(name, array) for name, array in pairs])


def _index(name: str) -> int:
    """`output__1` is the second output."""
    return int(name.rsplit("__", 1)[1])


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
