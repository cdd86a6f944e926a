"""One process of the gateway, as its parent sees it: its events, its log and its end."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import signal
import subprocess
import sys
import termios
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import IO

from orchestrator.host.heartbeat import ASK, Beat, State
from orchestrator.host.subprocesses import STATE, STOPPED, read_stat, reap_group
from orchestrator.serving.protocol.gateway_events import Ping, event_to_json

HANG_S = 20.0
"""Longest time in which an event loop reads no event. A slow disk may stop it for some seconds, and
a process that ends reads none for up to 17 s."""
STACK_S = 0.3
"""Time in which a process that hangs may write its Python stack."""
LAST_LINES = 3  # lines from a process that ended, as its reason
SENTENCE = "gateway: "
"""Start of the last line, if a process itself reports why it ends."""
logger = logging.getLogger(__name__)


@dataclass
class GatewayProcess:
    """One process of the gateway, with the last lines of its standard error."""

    process: subprocess.Popen[str]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))

    def __post_init__(self) -> None:
        self._start_lines: list[str] | None = []
        self._has_ended = False
        self._pings = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_stopped(self) -> bool:
        try:
            return read_stat(self.pid)[STATE] == STOPPED
        except OSError:  # the process has ended
            return False

    def beat(self) -> Beat:
        """Return the heartbeat of the event loop. A loop that has read all events gets a ping.

        A process that has not yet read its first ping is starting, which may take long.
        """
        assert self.process.stdin is not None
        if not _count_unread(self.process.stdin):
            self._pings += 1
            self.write(event_to_json(Ping()))
        state = State.WORKING if self._pings > 1 else State.IDLE
        return Beat(state, since=float(self._pings), limit_s=HANG_S)

    def write_stack(self) -> None:
        """Let a process that hangs write its Python stack to the log."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.send_signal(ASK)
            self.process.wait(STACK_S)

    def reason(self) -> str:
        """Return on one line why the process ended."""
        self._listener.join(1)  # its last lines may not have been read yet
        lines = [*filter(None, map(str.strip, self.lines))]
        if lines and lines[-1].startswith(SENTENCE):
            return lines[-1].removeprefix(SENTENCE)
        return " ".join(lines) or f"it left no message (exit status {self.process.returncode})"

    def write(self, line: str) -> None:
        """Write a line to the process's standard input, if the process still reads it."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it may have ended
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()

    def end(self, timeout_s: float = 0.0) -> None:
        """Wait for the end of the process, kill it after a timeout, and close its standard input.

        A second call does nothing.
        """
        if self._has_ended:
            return
        self._has_ended = True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, timeout_s))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        reap_group(self.pid)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def release(self) -> None:
        """Log the lines held so far, and all later ones. A failed start shows them as its error."""
        lines, self._start_lines = self._start_lines or [], None
        for line in lines:
            logger.warning("%s", line)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.lines.append(line)
                if self._start_lines is None:
                    logger.warning("%s", line.rstrip())
                else:
                    self._start_lines.append(line.rstrip())


def _count_unread(pipe: IO[str]) -> int:
    """Return how many bytes in a pipe were not read by its reader yet; 0 if it is closed."""
    try:
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (OSError, ValueError):
        return 0
