"""A Python-based Triton backend named `pytorch`: the networks run in the same PyTorch as ours.

A model repository made for Triton's own PyTorch backend (config.pbtxt, 1/model.pt, tensors named
input__0, output__0, ...) works with this one unchanged.

Source: Triton Inference Server, "Python-based Backends".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import triton_python_backend_utils as pb_utils
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from orchestrator.triton import placement
from orchestrator.triton.batching import BatchingModel
from orchestrator.triton.cuda_graphs import GraphedNetwork
from orchestrator.triton.placement import WORKER

UNOPTIMIZED = "DISABLE_OPTIMIZED_EXECUTION"
"""Parameter of config.pbtxt: TorchScript runs the network as it is. Otherwise it may compile the
network again for each new shape, which takes seconds on a GPU."""


class TritonPythonModel(BatchingModel[Tensor]):
    def initialize(self, args: Mapping[str, str]) -> None:
        path = self.configure(args, "model.pt")
        self.name = args["model_name"]
        on_gpu = args["model_instance_kind"] == "GPU"
        self.device = torch.device(f"cuda:{args['model_instance_device_id']}" if on_gpu else "cpu")
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        torch.set_flush_denormal(True)
        config = json.loads(args["model_config"])
        self.is_optimized = _is_optimized(config)
        self.model = torch.jit.load(str(path), map_location=self.device).eval()
        self.run = GraphedNetwork(self.run_model) if _wants_graphs(config) else self.run_model

    def read_tensor(self, tensor: Any) -> Tensor:
        array = from_dlpack(tensor)
        if placement.IS_TRACED:
            placement.log_device(self.name, WORKER, tensor.name(), array.device)
        return array.to(self.device)

    def concatenate(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(parts))

    @torch.inference_mode()
    def infer(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.run(*inputs)

    def run_model(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run the network, operator by operator."""
        with torch.jit.optimized_execution(self.is_optimized):  # type: ignore[attr-defined]
            answer = self.model(*inputs)
        return answer if isinstance(answer, tuple) else (answer,)

    def make_tensor(self, name: str, array: Tensor) -> Any:
        if placement.IS_TRACED:
            placement.log_device(self.name, WORKER, name, array.device)
        return pb_utils.Tensor.from_dlpack(name, array.contiguous())


def _is_optimized(config: Mapping[str, Any]) -> bool:
    parameters = config.get("parameters", {})
    return bool(parameters.get(UNOPTIMIZED, {}).get("string_value") != "true")


def _wants_graphs(config: Mapping[str, Any]) -> bool:
    """Tell whether config.pbtxt asks for CUDA graphs, in Triton's own field for them."""
    return bool(config.get("optimization", {}).get("cuda", {}).get("graphs"))
