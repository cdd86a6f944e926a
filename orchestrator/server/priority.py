"""How much of the cores a server gets that starts while another one serves."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from orchestrator.children import begin_child

LOW, USUAL = 15, 0  # niceness
CAP_SYS_NICE = 23
STATUS = Path("/proc/self/status")


def begin_slowly() -> None:
    """Prepare a process that is about to become a child, which leaves the cores to others.

    Where nobody could give it the usual share later on, it has it from the start.

    Source: Linux, "capabilities(7)", CAP_SYS_NICE; "getrlimit(2)", RLIMIT_NICE.
    """
    begin_child()
    if can_hurry():
        os.setpriority(os.PRIO_PROCESS, 0, LOW)


def hurry(group: int) -> None:
    """Give all processes of a group the usual share of the cores."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, group, USUAL)


def can_hurry() -> bool:
    """Tell whether this process may raise a priority that it lowered."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20 - USUAL:
        return True
    with suppress(OSError, StopIteration):
        lines = STATUS.read_text().splitlines()
        held = next(line for line in lines if line.startswith("CapEff:")).split()[1]
        return bool(int(held, 16) >> CAP_SYS_NICE & 1)
    return False
