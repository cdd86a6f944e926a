"""A server's workers as the kernel sees them: the model of each, and how it died."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.host.subprocesses import STATE, STOPPED, read_stat

PROC = Path("/proc")
REAPING_S = 0.1  # time in which Triton reaps a worker that it has ended
NAME = 8  # argument of a worker with the model's name, device and number
PARENT, EXIT_CODE = 1, 49  # fields after the name
DEAD = "Z"
PROGRAM = "triton_python_b"
"""Process name of a worker: the kernel keeps 15 letters. Triton also runs shells while it looks for
a GPU."""
SERVER = "tritonserver"


@dataclass(frozen=True)
class Worker:
    """A child process of a server.

    Attributes:
        pid: Its process id.
        model: The model that it serves or served; empty if it was never seen alive.
        state: The kernel's letter for its state.
        exit_reason: A signal or an exit status; empty while it lives.
    """

    pid: int
    model: str
    state: str
    exit_reason: str = ""

    @property
    def is_stopped(self) -> bool:
        return self.state == STOPPED


class Workers:
    """The child processes of a server.

    Triton neither restarts a dead worker nor reports it in its readiness. It does not even reap it,
    as it reaps the workers that it ends itself.

    Children of a thread that ends move to another thread's list, so a look at all lists may miss
    some. The lists only tell of new processes. One is gone when it cannot be read any more, or has
    another parent.

    Source: Linux, "proc_pid_task_tid_children(5)": reliable only if all children are stopped.

    Attributes:
        list_every_s: Longest age of the list of workers. Triton has hundreds of threads, and each
            must be asked for its own children.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._models: dict[int, str] = {}
        self._forgotten_pids: set[int] = set()
        self._pids: set[int] = set()
        self._last_listing_s = float("-inf")
        self.list_every_s = 0.0

    def alive(self) -> list[Worker]:
        """Return the workers that run or are stopped."""
        return [worker for worker in self._look() if worker.state != DEAD]

    def itself(self) -> list[Worker]:
        """Return the server in the form of a worker, if it still exists."""
        with suppress(OSError):
            return [self._worker(self._server, read_stat(self._server), SERVER)]
        return []

    def dead(self) -> list[Worker]:
        """Return the workers that died, each until it is forgotten."""
        if not self._zombies():
            return []
        time.sleep(REAPING_S)
        return self._zombies()

    def forget(self, worker: Worker) -> None:
        """Do not report this worker's death again: Triton reaps it only at its own end."""
        self._forgotten_pids.add(worker.pid)

    def is_known(self, worker: Worker) -> bool:
        """Tell whether the worker was not forgotten."""
        return worker.pid not in self._forgotten_pids

    def _zombies(self) -> list[Worker]:
        return [
            worker
            for worker in self._look()
            if worker.state == DEAD and worker.pid not in self._forgotten_pids
        ]

    def _look(self) -> Iterator[Worker]:
        if time.monotonic() - self._last_listing_s >= self.list_every_s:
            self._pids.update(_children(self._server))
            self._last_listing_s = time.monotonic()
        for pid in sorted(self._pids):
            with suppress(OSError):  # the process may have ended
                fields = read_stat(pid)
                if int(fields[PARENT]) == self._server:
                    if self._is_worker(pid):
                        yield self._worker(pid, fields, self._model(pid))
                    continue
            self._drop(pid)

    def _drop(self, pid: int) -> None:
        """Forget all about a process; its number is used again."""
        self._pids.remove(pid)
        self._forgotten_pids.discard(pid)
        self._models.pop(pid, None)

    def _is_worker(self, pid: int) -> bool:
        return pid in self._models or _program(pid) == PROGRAM

    def _model(self, pid: int) -> str:
        """Return the model of a worker. It never changes, so it is read once."""
        if pid not in self._models:
            arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
            if len(arguments) > NAME:  # a dead worker has no arguments
                self._models[pid] = arguments[NAME].decode(errors="replace").rsplit("_", 2)[0]
        return self._models.get(pid, "")

    @staticmethod
    def _worker(pid: int, fields: list[str], model: str) -> Worker:
        state = fields[STATE]
        if state != DEAD:
            return Worker(pid, model, state)
        exit_code = os.waitstatus_to_exitcode(int(fields[EXIT_CODE]))
        return Worker(pid, model, state, describe_exit(exit_code))


def _program(pid: int) -> str:
    return (PROC / str(pid) / "comm").read_text(errors="replace").rstrip("\n")


def _children(process: int) -> Iterator[int]:
    """Return a process's children if the kernel lists them; else all possible ones."""
    if not (PROC / "self" / "task" / str(os.getpid()) / "children").exists():
        yield from (int(folder.name) for folder in PROC.glob("[0-9]*"))
        return
    for children in PROC.glob(f"{process}/task/[0-9]*/children"):
        with suppress(OSError):  # a thread may end at this moment
            yield from map(int, children.read_text().split())


def describe_exit(exit_code: int) -> str:
    """Return a process's exit reason; a negative code is the number of a signal."""
    if exit_code >= 0:
        return f"exit status {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        return f"signal {-exit_code}"
