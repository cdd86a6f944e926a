"""A Python-based Triton backend named `pytorch`: serves TorchScript files where libtorch is absent.

A model repository made for Triton's own PyTorch backend (config.pbtxt, 1/model.pt, tensors named
input__0, output__0, ...) works with this one unchanged.

Source: Triton Inference Server, "Python-based Backends".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import triton_python_backend_utils as pb_utils
from torch import Tensor
from torch.utils.dlpack import from_dlpack

Row = tuple[Tensor, ...]  # the tensors of one request, in the order of the model's arguments


class TritonPythonModel:
    def initialize(self, args: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.inputs = sorted((entry["name"] for entry in config["input"]), key=_index)
        self.outputs = sorted((entry["name"] for entry in config["output"]), key=_index)
        on_gpu = args["model_instance_kind"] == "GPU"
        self.device = torch.device(f"cuda:{args['model_instance_device_id']}" if on_gpu else "cpu")
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        torch.set_flush_denormal(True)
        name = config["default_model_filename"] or "model.pt"
        path = Path(args["model_repository"], args["model_version"], name)
        self.model = torch.jit.load(str(path), map_location=self.device).eval()

    @torch.inference_mode()
    def execute(self, requests: Sequence[Any]) -> list[Any]:
        rows = [self._row(request) for request in requests]
        try:
            answers = self._infer_batch(rows)
        except Exception:  # find the request that is to blame; the others are answered
            return [self._respond_alone(row) for row in rows]
        return [self._response(answer) for answer in answers]

    def _row(self, request: Any) -> Row:
        tensors = (pb_utils.get_input_tensor_by_name(request, name) for name in self.inputs)
        return tuple(from_dlpack(tensor).to(self.device) for tensor in tensors)

    def _infer_batch(self, rows: Sequence[Row]) -> list[Row]:
        """Concatenate along the batch, run once, split again."""
        if len(rows) == 1:
            return [self._infer(rows[0])]
        batch = self._infer(tuple(torch.cat(column) for column in zip(*rows, strict=True)))
        sizes = [len(row[0]) for row in rows]
        return list(zip(*(column.split(sizes) for column in batch), strict=True))

    def _infer(self, row: Row) -> Row:
        answer = self.model(*row)
        return answer if isinstance(answer, tuple) else (answer,)

    def _respond_alone(self, row: Row) -> Any:
        try:
            return self._response(self._infer(row))
        except Exception as error:
            shapes = ", ".join(str(list(tensor.shape)) for tensor in row)
            message = f"cannot infer on {shapes}: {_last_line(error)}"
            code = pb_utils.TritonError.INVALID_ARG
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))

    def _response(self, row: Row) -> Any:
        tensors = zip(self.outputs, row, strict=True)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor.from_dlpack(name, tensor.contiguous()) for name, tensor in tensors]
        )


def _index(name: str) -> int:
    """`output__1` is the second output."""
    return int(name.rsplit("__", 1)[1])


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
