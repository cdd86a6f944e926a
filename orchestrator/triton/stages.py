"""Measures the time of each stage of one request.

The pipeline calls the networks one after the other and has no clock. So the clock is in the object
that calls them: the time between two calls belongs to the step between them. The pipeline tells
it when texts are decoded, because improvements call networks afterwards, too.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Infer, Tensors
from orchestrator.contract import CROPS, DETECTOR, LETTERBOX, READER, STAGES, TEXTS, UNPACKING

__all__ = ["STAGES", "UNPACKING", "Stopwatch"]


class Stopwatch:
    """Divides the time since its creation into stages. It is the `Infer` that it measures.

    Args:
        infer: Runs a network. Each network is a stage, and so is the time between two of them.

    Attributes:
        seconds: Seconds by stage, up to the current point of the request.
        total_s: Seconds from the start to the last lap.
    """

    def __init__(self, infer: Infer) -> None:
        self._infer = infer
        self.seconds: dict[str, float] = {}
        self.total_s = 0.0
        self._began = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last lap to a stage."""
        so_far = time.perf_counter() - self._began
        self.seconds[stage] = self.seconds.get(stage, 0.0) + so_far - self.total_s
        self.total_s = so_far

    def __call__(self, model: str, tensors: Tensors) -> Tensors:
        self.lap(LETTERBOX if model == DETECTOR else CROPS)
        answer = self._infer(model, tensors)
        self.lap(model)
        return answer

    def finish(self) -> npt.NDArray[np.float32]:
        """Add the time since the last stage that ended; return all as `stage_seconds`: [7]."""
        self.lap(TEXTS if READER in self.seconds else CROPS)
        return np.array([self.seconds.get(stage, 0.0) for stage in STAGES], np.float32)
