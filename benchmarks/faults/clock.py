"""A wall clock that jumps, as it does after a machine has slept or was set right."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.faults.observation import Stage
from benchmarks.faults.report import Effect
from benchmarks.faults.settings import NO_OFFSET, OFFSET, OFFSET_FILE

LASTS_S = 4.0


def jump(stage: Stage) -> Effect:
    """Let the service's clock go an hour forward, and back again."""
    offset = Path(stage.service.way.variables[OFFSET_FILE])
    offset.write_text(OFFSET)
    time.sleep(LASTS_S)
    offset.write_text(NO_OFFSET)
    return Effect(time.monotonic(), notes=("forward for 4 s, then back",))
