"""Child processes: how they begin, and that they neither outlive this one nor dump its pictures."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECRETS = ("PLATES_ADMIN_KEY", "PLATES_KEY")
"""Variables that are this process's alone."""
PROC = Path("/proc")
STATE = 0  # of the fields after a process's name
STOPPED = "T"
PR_SET_PDEATHSIG = 1
REAP_EVERY_S = 0.01
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


def reap_group(group: int, timeout_s: float = 1.0) -> None:
    """Reap what a child that ended has left: its own children, which were killed.

    The kernel gives those to process 1. Where this process is that one, as in a container without
    an init, they would stay zombies for as long as it runs.

    Args:
        group: Process group of the child, all of which was killed.
        timeout_s: Longest wait for the kernel to end them.
    """
    deadline = time.monotonic() + timeout_s
    with suppress(ChildProcessError):  # all are reaped, or another process has them
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG) == (0, 0):
                time.sleep(REAP_EVERY_S)


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
