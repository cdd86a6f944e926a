"""What is told of a worker that died: one line of JSON in the log, for who has to find out why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from orchestrator.contract import unmark
from orchestrator.heartbeat import Beat, State

LONGEST = 2000  # characters of a stack
LINES = 8
OUTSIDE = ("SIGKILL", "SIGTERM", "stopped")
"""Ends that no picture brings about: an administrator's, or the kernel's for want of memory."""


@dataclass(frozen=True)
class Renewal:
    """A model got new workers after one died.

    Attributes:
        model: Its name.
    """

    model: str


@dataclass(frozen=True)
class Death:
    """A worker that died or was killed because it hung.

    Attributes:
        model: Whose worker it was.
        pid: Of its process.
        how: A signal, an exit status, or how it hung.
        beat: What it was doing.
        stack: What Python wrote of its end, or where it was; empty where it wrote nothing.
        lines: What the server and its workers wrote last, Triton's own log left out.
        is_last: Its model has no other worker that answers.
    """

    model: str
    pid: int
    how: str
    beat: Beat
    stack: str = ""
    lines: Sequence[str] = ()
    is_last: bool = False

    @property
    def blamed(self) -> tuple[str, ...]:
        """Ids of the calls that may be to blame: those that it was working on when it ended."""
        is_its_own = self.beat.state is State.WORKING and self.how not in OUTSIDE
        return self.beat.calls if is_its_own else ()

    def to_json(self) -> str:
        """Return the line for the log."""
        is_idle = self.beat.state is State.IDLE
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "event": "worker died",
            "model": self.model,
            "pid": self.pid,
            "how": self.how,
            "doing": self.beat.state.name.lower(),
            "request_ids": [] if is_idle else [unmark(call) for call in self.beat.calls],
            "picture": "" if is_idle else self.beat.picture,
            "stack": self.stack[-LONGEST:],
            "last_lines": [*self.lines][-LINES:],
        }
        return json.dumps(line)
