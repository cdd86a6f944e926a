"""Child processes: how they begin, and that they neither outlive this one nor dump its pictures."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECRETS = ("PLATES_ADMIN_KEY", "PLATES_KEY")
"""Variables that are this process's alone."""
PROC = Path("/proc")
STATE = 0  # of the fields after a process's name
STOPPED = "T"
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def begin_child() -> None:
    """Prepare a process that is about to become a child: a `preexec_fn`.

    The kernel ends it when the thread that started it ends, and hands no memory of it, nor of its
    own children, on when it crashes: there are pictures in it.

    Source: Linux kernel, `fs/coredump.c`: a program that collects dumps heeds no limit but 1.
    """
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    most = 1 if hard else 0  # which only root may raise
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def read_stat(pid: int) -> list[str]:
    """Return what the kernel says of a process behind its name.

    Raises:
        OSError: It has ended.

    Source: Linux, "proc_pid_stat(5)".
    """
    stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    return stat.rpartition(")")[2].split()


def without_secrets(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return a child's environment."""
    return {name: value for name, value in variables.items() if name not in SECRETS}


@contextmanager
def ignore_stops() -> Iterator[None]:
    """Let an impatient second Ctrl-C not leave half of what is being stopped behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
