"""A server's workers as the kernel sees them: which model each serves, and how it died."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.children import STATE, STOPPED, read_stat

PROC = Path("/proc")
REAPING_S = 0.1  # Triton's, for a worker that it has ended
NAME = 8  # of a worker's arguments: the model's name, device and number
PARENT, USER_TIME, SYSTEM_TIME, EXIT_CODE = 1, 11, 12, 49  # fields after the name
TICKS = os.sysconf("SC_CLK_TCK")
DEAD = "Z"
PROGRAM = "triton_python_b"
"""Of a worker: the kernel keeps 15 letters. Triton runs shells, too, while it looks for a GPU."""
SERVER = "tritonserver"


@dataclass(frozen=True)
class Worker:
    """A child process of a server.

    Attributes:
        pid: Of the process.
        model: That it serves or served; empty where it was never seen alive.
        state: One letter of the kernel's.
        cpu_s: Time that cores have worked for it.
        end: How it died; empty while it lives.
    """

    pid: int
    model: str
    state: str
    cpu_s: float
    end: str = ""

    @property
    def is_stopped(self) -> bool:
        return self.state == STOPPED


class Workers:
    """The child processes of a server.

    Triton neither restarts a worker that died nor says so in its readiness. It does not even
    reap it, as it does those that it ends itself.

    Attributes:
        list_every_s: How old a list of them may be: Triton has hundreds of threads, each of which
            must be asked for its own.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._models: dict[int, str] = {}
        self._forgotten: set[int] = set()
        self._pids: list[int] = []
        self._listed = float("-inf")
        self.list_every_s = 0.0

    def alive(self) -> list[Worker]:
        """Return those that run, or are stopped."""
        return [worker for worker in self._look() if worker.state != DEAD]

    def itself(self) -> list[Worker]:
        """Return the server as if it were a worker, if it is there."""
        with suppress(OSError):
            return [self._worker(self._server, read_stat(self._server), SERVER)]
        return []

    def dead(self) -> list[Worker]:
        """Return those that died, by themselves or killed; each until it is forgotten."""
        if not self._zombies():
            return []
        time.sleep(REAPING_S)
        return self._zombies()

    def forget(self, worker: Worker) -> None:
        """Tell of its death no more, or never: Triton does not reap it before its own end."""
        self._forgotten.add(worker.pid)

    def is_known(self, worker: Worker) -> bool:
        """Tell whether it was not forgotten."""
        return worker.pid not in self._forgotten

    def _zombies(self) -> list[Worker]:
        return [w for w in self._look() if w.state == DEAD and w.pid not in self._forgotten]

    def _look(self) -> Iterator[Worker]:
        if time.monotonic() - self._listed >= self.list_every_s:
            self._pids, self._listed = [*_children(self._server)], time.monotonic()
            self._forgotten.intersection_update(self._pids)  # a number may be another's one day
        for pid in self._pids:
            with suppress(OSError):  # it may end while we look
                fields = read_stat(pid)
                if int(fields[PARENT]) == self._server and _program(pid) == PROGRAM:
                    yield self._worker(pid, fields, self._model(pid))

    def _model(self, pid: int) -> str:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        if len(arguments) > NAME:  # a dead one has none
            self._models[pid] = arguments[NAME].decode(errors="replace").rsplit("_", 2)[0]
        return self._models.get(pid, "")

    @staticmethod
    def _worker(pid: int, fields: list[str], model: str) -> Worker:
        state = fields[STATE]
        cpu_s = (int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])) / TICKS
        end = manner(os.waitstatus_to_exitcode(int(fields[EXIT_CODE]))) if state == DEAD else ""
        return Worker(pid, model, state, cpu_s, end)


def _program(pid: int) -> str:
    return (PROC / str(pid) / "comm").read_text(errors="replace").rstrip("\n")


def _children(process: int) -> Iterator[int]:
    """Return a process's children where the kernel lists them, else all that might be."""
    if not (PROC / "self" / "task" / str(os.getpid()) / "children").exists():
        yield from (int(folder.name) for folder in PROC.glob("[0-9]*"))
        return
    for children in PROC.glob(f"{process}/task/[0-9]*/children"):
        with suppress(OSError):  # a thread may end while we look
            yield from map(int, children.read_text().split())


def manner(exit_code: int) -> str:
    """Say how a process ended; a negative code is that of a signal."""
    if exit_code >= 0:
        return f"exit status {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        return f"signal {-exit_code}"
