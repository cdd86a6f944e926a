"""What a worker is doing, kept in shared memory, where its supervisor sees it.

A worker that is stopped or loops for ever cannot tell anybody. So each writes down before it works
what on, and for how long that may take; whoever watches compares that with the clock.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import signal
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from orchestrator.oom_score import raise_score

VARIABLE = "PLATES_HEARTBEATS"
"""Names the beginning of the files' paths; a process id follows. Nothing is watched without."""
PARAMETER = "hang_s"
"""In a model's config.pbtxt: how long a worker may take for a step. Not watched without."""
SIZE = 4096
HEAD = struct.Struct("<ddIB")  # since when, for how long, bytes that follow, state
ASK = signal.SIGUSR2
"""A worker that gets it writes down where in its Python code it is."""
STACK = ".stack"
"""Behind the name of the file: where a worker writes what Python says of its end, or when asked."""
LONGEST = 160  # characters of a call's id
MOST_CALLS = 16


class State(IntEnum):
    """What a worker is doing."""

    IDLE = 0
    WORKING = 1
    WAITING = 2
    """For another model."""


@dataclass(frozen=True)
class Beat:
    """What a worker wrote down last.

    Attributes:
        state: What it is doing.
        since: When it began the step, in seconds of `time.monotonic`.
        limit_s: How long the step may take; for ever when 0.
        calls: Ids of the requests that it has.
        picture: What they sent, in words; empty where that is not known yet.
    """

    state: State = State.IDLE
    since: float = 0.0
    limit_s: float = 0.0
    calls: tuple[str, ...] = ()
    picture: str = ""


class Heartbeat:
    """One worker's; it works on one batch of requests at a time.

    Args:
        limit_s: How long each step may take; for ever when 0.
        prefix: Beginning of the file's path; None keeps it to the process itself.
    """

    def __init__(self, limit_s: float = 0.0, prefix: str | None = None) -> None:
        self._limit_s = limit_s
        self._memory = _map(prefix)
        self._told = b""
        self._write(State.IDLE)

    @classmethod
    def of_model(cls, config: Mapping[str, Any]) -> Heartbeat:
        """Return that of a worker of Triton's, by the model's configuration.

        Where a supervisor watches, the worker is from now on killed before Triton when memory runs
        out: it is the one that can be replaced.
        """
        value = config.get("parameters", {}).get(PARAMETER, {}).get("string_value", "0")
        prefix = os.environ.get(VARIABLE)
        if prefix:
            raise_score()
            _tell_faults(Path(f"{prefix}{os.getpid()}{STACK}"))
        return cls(float(value), prefix)

    @contextmanager
    def work(self, calls: Sequence[str], picture: str = "", more_s: float = 0.0) -> Iterator[None]:
        """Say for the length of a `with` block that a batch of requests is being worked on.

        Args:
            calls: The requests' ids.
            picture: What they sent, in words.
            more_s: How much longer than others the first step may take.
        """
        self.take(calls, picture, more_s)
        try:
            yield
        finally:
            self._write(State.IDLE)

    def take(self, calls: Sequence[str], picture: str, more_s: float = 0.0) -> None:
        """Begin a step of which more is known; see `work`."""
        ids = [call[-LONGEST:] for call in calls[:MOST_CALLS]]
        told = json.dumps([ids, picture]).encode()
        self._told = told if len(told) <= SIZE - HEAD.size else b'[[], ""]'
        self._memory[HEAD.size : HEAD.size + len(self._told)] = self._told
        self._write(State.WORKING, more_s)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Say for the length of a `with` block that another model is waited for."""
        self._write(State.WAITING)
        try:
            yield
        finally:
            self._write(State.WORKING)

    def _write(self, state: State, more_s: float = 0.0) -> None:
        limit_s = self._limit_s and self._limit_s + more_s
        HEAD.pack_into(self._memory, 0, time.monotonic(), limit_s, len(self._told), int(state))


def read(prefix: str, pid: int) -> Beat:
    """Return what a worker wrote down last; that it is idle where it never did."""
    with suppress(OSError, ValueError, struct.error):
        content = Path(f"{prefix}{pid}").read_bytes()
        since, limit_s, length, state = HEAD.unpack_from(content)
        calls, picture = json.loads(content[HEAD.size : HEAD.size + length] or b'[[], ""]')
        return Beat(State(state), since, limit_s, tuple(calls), picture)
    return Beat()


def is_told(prefix: str, pid: int) -> bool:
    """Tell whether a worker writes down what it does."""
    return Path(f"{prefix}{pid}").exists()


def read_stack(prefix: str, pid: int) -> str:
    """Return what Python wrote of a worker's end, or where it was when asked; else nothing."""
    with suppress(OSError):
        return Path(f"{prefix}{pid}{STACK}").read_text(errors="replace")
    return ""


def _tell_faults(path: Path) -> None:
    with suppress(OSError):  # no room
        file = path.open("w")  # open as long as the worker lives
        faulthandler.enable(file)
        faulthandler.register(ASK, file)


def _map(prefix: str | None) -> mmap.mmap:
    """Return memory to write to: a file of its own, whose room is taken now and not later."""
    if prefix:
        with suppress(OSError):  # no room: unwatched, it works all the same
            file = os.open(f"{prefix}{os.getpid()}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.posix_fallocate(file, 0, SIZE)
                return mmap.mmap(file, SIZE)
            finally:
                os.close(file)
    return mmap.mmap(-1, SIZE)
