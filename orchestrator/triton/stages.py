"""Measures the time of each stage of one request.

The pipeline calls the networks one after the other and has no clock. So the clock is in the object
that calls them: the time between two calls belongs to the step between them. The pipeline tells
it when texts are decoded, because improvements call networks afterwards, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.contract import CROPS, DETECTOR, LETTERBOX, READER, STAGES, TEXTS, UNPACKING
from orchestrator.pipeline import Infer, Tensors

__all__ = ["STAGES", "UNPACKING", "Stopwatch", "TimedInfer"]


@dataclass(frozen=True)
class TimedInfer:
    """An `Infer` that measures each network, and the stage before it.

    Attributes:
        infer: Runs the networks.
        lap: Adds the time since the last lap to a stage.
    """

    infer: Infer
    lap: Callable[[str], None]

    def __call__(self, model: str, tensors: Tensors) -> Tensors:
        self.lap(LETTERBOX if model == DETECTOR else CROPS)
        answer = self.infer(model, tensors)
        self.lap(model)
        return answer


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

    def time(self, infer: Infer) -> TimedInfer:
        """Return an `Infer` that measures each network, and the stages around it."""
        return TimedInfer(infer, self.lap)

    def finish(self) -> None:
        """Add the time since the last stage that ended."""
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
