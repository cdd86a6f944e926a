"""Measures the time of each stage of one request.

The pipeline calls the networks one after the other and has no clock. So the clock is in the
function that calls them: the time between two calls belongs to the step between them.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from orchestrator.contract import DETECTOR, READER, STAGES
from orchestrator.pipeline import Infer, Tensors

PICTURE, LETTERBOX, _, CROPS, _, _, TEXTS = STAGES


class Stopwatch:
    """Divides the time since its creation into stages.

    Attributes:
        seconds: Seconds by stage, up to the current point of the request.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last lap to a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def time(self, infer: Infer) -> Infer:
        """Return an `Infer` that measures each network, and the stage before it."""

        def infer_timed(model: str, tensors: Tensors) -> Tensors:
            self.lap(LETTERBOX if model == DETECTOR else CROPS)
            answer = infer(model, tensors)
            self.lap(model)
            return answer

        return infer_timed

    def finish(self) -> None:
        """Add the time after the last network."""
        self.lap(TEXTS if self.has_read else CROPS)

    def to_array(self) -> npt.NDArray[np.float32]:
        """Return the seconds of all stages as the output `stage_seconds`: float32 [7]."""
        return np.array([self.seconds.get(stage, 0.0) for stage in STAGES], np.float32)

    @property
    def has_read(self) -> bool:
        return READER in self.seconds

    @property
    def total_s(self) -> float:
        """Seconds from the start to the last lap."""
        return self._last - self._began
