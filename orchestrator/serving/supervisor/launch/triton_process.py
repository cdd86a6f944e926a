"""The process of Triton after its start: its CPU priority, and the keys on its command line.

Every user of a machine can read the command lines of all processes.
"""

from __future__ import annotations

import logging
import os
import resource
import secrets
import subprocess
import time
from collections.abc import Iterable
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

    It is not made nicer where nobody could undo that later. Some kernels share the cores among
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
        capabilities = next(line for line in lines if line.startswith("CapEff:")).split()[1]
        return bool(int(capabilities, 16) >> CAP_SYS_NICE & 1)
    return False


PROC = Path("/proc")
ARGUMENTS = slice(45, 47)  # fields after a process's name: where its arguments are
PARSED_WITHIN_S = 30.0
PAUSE_S = 0.002

logger = logging.getLogger(__name__)


def hide(process: subprocess.Popen[str], keys: Iterable[str]) -> None:
    """Overwrite keys on a server's command line, in its memory, after the server has read them.

    Triton reads them before it starts its first thread. Until then, another user can see a key.
    This takes about 10 ms after the start, and longer when the program is read from a slow disk. If
    the kernel forbids the write, the keys stay visible, and a warning says so.
    """
    deadline = time.monotonic() + PARSED_WITHIN_S
    try:
        while not _is_parsed(process.pid):
            if process.poll() is not None:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(0, "Triton has not begun to work")
            time.sleep(PAUSE_S)
        _overwrite(PROC / str(process.pid), [key.encode() for key in keys if key])
    except OSError as error:
        if process.poll() is None:
            logger.warning(
                "everybody on this machine can see the keys on Triton's command line: "
                "they cannot be overwritten (%s)",
                error.strerror,
            )


def _is_parsed(pid: int) -> bool:
    return len(os.listdir(PROC / str(pid) / "task")) > 1  # noqa: PTH208 - names are enough


def _overwrite(process: Path, keys: Iterable[bytes]) -> None:
    fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    begin, end = map(int, fields[ARGUMENTS])
    with (process / "mem").open("r+b", buffering=0) as memory:
        memory.seek(begin)
        line = memory.read(end - begin)
        for key in keys:
            # Not a constant: if Triton read the line only now, the constant would be a known key.
            line = line.replace(key, secrets.token_hex(len(key))[: len(key)].encode())
        memory.seek(begin)
        memory.write(line)
