"""Where the time of one request goes.

The pipeline calls the networks one after the other and knows of no clock. So the clock sits in its
only way out: what passes between two calls is the work of the step that lies between them.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from orchestrator.contract import DETECTOR, READER, STAGES
from orchestrator.pipeline import Infer, Tensors

PICTURE, LETTERBOX, _, CROPS, _, _, TEXTS = STAGES


class Stopwatch:
    """Divides the time since it was made into stages.

    Attributes:
        seconds: By stage, as far as the request has come.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Count the time since the last lap to a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def time(self, infer: Infer) -> Infer:
        """Return an `Infer` that counts each network's time, and what lies before it."""

        def infer_timed(model: str, tensors: Tensors) -> Tensors:
            self.lap(LETTERBOX if model == DETECTOR else CROPS)
            answer = infer(model, tensors)
            self.lap(model)
            return answer

        return infer_timed

    def finish(self) -> None:
        """Count what came after the last network."""
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
