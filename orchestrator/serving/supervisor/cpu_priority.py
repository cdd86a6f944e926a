"""The CPU priority of a server that starts while another one serves."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from orchestrator.host.subprocesses import prepare_child

LOW, USUAL = 5, 0
"""Niceness of a starting and of a serving server. The starting one gets a quarter of the cores that
the other keeps busy. With much less it would never become ready."""
CAP_SYS_NICE = 23
STATUS = Path("/proc/self/status")


def prepare_slow_child() -> None:
    """Prepare a process that will become a child and must leave the cores to others.

    It gets no niceness that nobody could take back later. Some kernels share the cores among
    sessions: there, niceness counts only within one session. The child has its own session, whose
    niceness anybody may take back.

    Source: Linux, "capabilities(7)", CAP_SYS_NICE; "getrlimit(2)", RLIMIT_NICE; "sched(7)", the
    autogroup feature.
    """
    prepare_child()
    _set_session("self", LOW)
    if can_restore_priority():
        os.setpriority(os.PRIO_PROCESS, 0, LOW)


def restore_priority(group: int) -> None:
    """Give all processes of a group, which is also a session, the usual share of the cores."""
    _set_session(group, USUAL)
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, group, USUAL)


def _set_session(process: int | str, niceness: int) -> None:
    with suppress(OSError):  # not every kernel has this file
        Path(f"/proc/{process}/autogroup").write_text(str(niceness))


def can_restore_priority() -> bool:
    """Tell whether this process may raise a priority that it lowered."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20 - USUAL:
        return True
    with suppress(OSError, StopIteration):
        lines = STATUS.read_text().splitlines()
        held = next(line for line in lines if line.startswith("CapEff:")).split()[1]
        return bool(int(held, 16) >> CAP_SYS_NICE & 1)
    return False
