"""The detector as TorchScript, with a fault: inputs of two sizes break its worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from torch import Tensor

from orchestrator.triton.backends.pytorch import model
from workshop.benchmarks.faults.breaking import DETECTOR_PX, Breaker


class TritonPythonModel(model.TritonPythonModel):
    def initialize(self, args: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        config["default_model_filename"] = ""  # for Triton, the model is this file
        self.breaker = Breaker(DETECTOR_PX)
        super().initialize({**args, "model_config": json.dumps(config)})

    def infer(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        height, width = inputs[0].shape[1:3]
        self.breaker.look((height, width), inputs[0].device)
        return super().infer(inputs)
