"""A server's workers as the kernel sees them: which model each serves, and how it died."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
REAPING_S = 0.1  # Triton's, for a worker that it has ended
NAME = 8  # of a worker's arguments: the model's name, device and number
EXIT_CODE = 49  # of the fields after a process's name


class Workers:
    """The child processes of a server.

    Triton neither restarts a worker that died nor says so in its readiness. It does not even
    reap it, as it does those that it ends itself.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._models: dict[int, str] = {}

    def dead(self) -> dict[int, str]:
        """Return the workers that died, by process, with how they did."""
        dead = self._zombies()
        if dead:
            time.sleep(REAPING_S)
            still = self._zombies()
            return {pid: how for pid, how in dead.items() if pid in still}
        return {}

    def model(self, pid: int) -> str:
        """Return the model that a worker serves or served; empty where it was never seen alive."""
        return self._models.get(pid, "")

    def _zombies(self) -> dict[int, str]:
        found = {}
        for stat in PROC.glob("[0-9]*/stat"):
            with suppress(OSError):  # it may end while we look
                fields = stat.read_text(errors="replace").rpartition(")")[2].split()
                pid = int(stat.parent.name)
                if int(fields[1]) == self._server:
                    self._note_model(pid)
                    if fields[0] == "Z":
                        found[pid] = manner(os.waitstatus_to_exitcode(int(fields[EXIT_CODE])))
        return found

    def _note_model(self, pid: int) -> None:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        if len(arguments) > NAME:  # a dead one has none
            self._models[pid] = arguments[NAME].decode(errors="replace").rsplit("_", 2)[0]


def manner(exit_code: int) -> str:
    """Say how a process ended; a negative code is that of a signal."""
    if exit_code >= 0:
        return f"exit status {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        return f"signal {-exit_code}"
