"""Reports of dead workers: one line of JSON in the log, to find the cause."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from orchestrator.contract import unmark
from orchestrator.host.heartbeat import Beat, State

MAX_CHARACTERS = 2000  # characters of a stack trace
LINES = 8
OUTSIDE = ("SIGKILL", "SIGTERM", "stopped")
"""Signals that no picture causes: an administrator sends them, or the kernel when memory is
short."""


@dataclass(frozen=True)
class CrashReport:
    """The report of a worker that died or was killed because it hung.

    Attributes:
        model: The model that the worker served.
        pid: The worker's process id.
        reason: A signal, an exit status, or the time for which it hung.
        beat: Its last heartbeat.
        stack: Python's stack trace of its end, or of the place where it hung; may be empty.
        lines: The last lines that the server and its workers wrote, without Triton's own log.
    """

    model: str
    pid: int
    reason: str
    beat: Beat
    stack: str = ""
    lines: Sequence[str] = ()

    @property
    def suspects(self) -> tuple[str, ...]:
        """Ids of the requests that may be the cause: the worker was processing them."""
        is_its_own = self.beat.state is State.WORKING and self.reason not in OUTSIDE
        return self.beat.calls if is_its_own else ()

    def to_json(self) -> str:
        """Return the line for the log."""
        is_idle = self.beat.state is State.IDLE
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "event": "worker died",
            "model": self.model,
            "pid": self.pid,
            "how": self.reason,
            "doing": self.beat.state.name.lower(),
            "request_ids": [] if is_idle else [unmark(call) for call in self.beat.calls],
            "picture": "" if is_idle else self.beat.picture,
            "stack": self.stack[-MAX_CHARACTERS:],
            "last_lines": [*self.lines][-LINES:],
        }
        return json.dumps(line)
