"""Makes the wall clock jump, as it does after a machine has slept or its clock was set."""

from __future__ import annotations

import time
from pathlib import Path

from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.faults.settings import OFFSET_FILE, set_offset

LASTS_S = 4.0
HOUR_S = 3600


def jump(target: Target) -> Effect:
    """Set the service's clock one hour forward, and back again."""
    offset = Path(target.service.launch.variables[OFFSET_FILE])
    set_offset(offset, HOUR_S)
    time.sleep(LASTS_S)
    set_offset(offset, 0)
    return Effect(time.monotonic(), notes=(f"forward for {LASTS_S:.0f} s, then back",))
