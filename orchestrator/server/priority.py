"""How much of the cores a server gets that starts while another one serves."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from orchestrator.children import begin_child

LOW, USUAL = 5, 0
"""Niceness. The warming server gets a quarter of cores that the other would keep busy: with much
less it would never be ready."""
CAP_SYS_NICE = 23
STATUS = Path("/proc/self/status")


def begin_slowly() -> None:
    """Prepare a process that is about to become a child, which leaves the cores to others.

    Niceness that nobody could take back later on it does not get. Where the kernel shares the cores
    among sessions, niceness counts within one alone, and the session, which is the child's own,
    has another, which everybody may take back.

    Source: Linux, "capabilities(7)", CAP_SYS_NICE; "getrlimit(2)", RLIMIT_NICE; "sched(7)", the
    autogroup feature.
    """
    begin_child()
    _set_session("self", LOW)
    if can_hurry():
        os.setpriority(os.PRIO_PROCESS, 0, LOW)


def hurry(group: int) -> None:
    """Give all processes of a group, which is a session, too, the usual share of the cores."""
    _set_session(group, USUAL)
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, group, USUAL)


def _set_session(process: int | str, niceness: int) -> None:
    with suppress(OSError):  # not every kernel does so
        Path(f"/proc/{process}/autogroup").write_text(str(niceness))


def can_hurry() -> bool:
    """Tell whether this process may raise a priority that it lowered."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20 - USUAL:
        return True
    with suppress(OSError, StopIteration):
        lines = STATUS.read_text().splitlines()
        held = next(line for line in lines if line.startswith("CapEff:")).split()[1]
        return bool(int(held, 16) >> CAP_SYS_NICE & 1)
    return False
