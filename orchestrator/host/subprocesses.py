"""Child processes: they end with this process, and leave no core dump with pictures in it."""

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

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECRETS = ("PLATES_ADMIN_KEY", "PLATES_KEY")
"""Environment variables that child processes do not get."""
PROC = Path("/proc")
STATE = 0  # index in the fields after a process's name
STOPPED = "T"
PR_SET_PDEATHSIG = 1
REAP_EVERY_S = 0.01
_LIBC = ctypes.CDLL(None)


def prepare_child() -> None:
    """Prepare a process that will become a child: a `preexec_fn`.

    The kernel ends the child when the thread that started it ends. The kernel also writes no core
    dump of it or its own children when they crash, because their memory contains pictures.

    Source: Linux kernel, `fs/coredump.c`: a program that collects dumps obeys no limit but 1.
    """
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 1 if hard else 0  # only root may raise the hard limit
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def reap_group(group: int, timeout_s: float = 1.0) -> None:
    """Reap the child processes of a child that has ended; they must have been killed.

    The kernel makes them children of process 1. In a container without an init, this process can be
    process 1. Without this function they would then stay zombies for as long as it runs.

    Args:
        group: Process group of the child, whose processes were all killed.
        timeout_s: Longest wait for the kernel to end them.
    """
    deadline = time.monotonic() + timeout_s
    with suppress(ChildProcessError):  # all are reaped, or belong to another process
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG) == (0, 0):
                time.sleep(REAP_EVERY_S)


def read_stat(pid: int) -> list[str]:
    """Return the kernel's fields about a process that follow its name.

    Raises:
        OSError: The process has ended.

    Source: Linux, "proc_pid_stat(5)".
    """
    stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    return stat.rpartition(")")[2].split()


def measure_queued_s(pid: int) -> float:
    """Return the seconds that the threads of a process were ready to run and had no core.

    Source: Linux kernel, "Documentation/scheduler/sched-stats.rst".
    """
    waited_ns = 0
    for stat in PROC.glob(f"{pid}/task/[0-9]*/schedstat"):
        with suppress(OSError):  # a thread may end at this moment
            waited_ns += int(stat.read_text().split()[1])
    return waited_ns / 1e9


def without_secrets(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child, without the secrets of this process."""
    return {name: value for name, value in variables.items() if name not in SECRETS}


@contextmanager
def defer_stops() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of a `with` block, which is a clean-up.

    A second signal then does not interrupt it, and a first one is not lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred_signals: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: deferred_signals.append(number))
        for number in STOP_SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for first in deferred_signals[:1]:
        signal.raise_signal(first)
