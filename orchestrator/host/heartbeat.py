"""The heartbeat of a worker, in shared memory that its supervisor reads, and the watchdog.

A worker that is stopped or in an endless loop cannot report that. So each worker writes down its
requests, and how long they may take, before it works on them. The watchdog compares that with the
clock.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import signal
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from orchestrator.host.resources import raise_score
from orchestrator.host.subprocesses import measure_queued_s

VARIABLE = "PLATES_HEARTBEATS"
"""Variable with the prefix of the files' paths; a process id follows it. Without it there is no
watchdog."""
PARAMETER = "hang_s"
"""Parameter in a model's config.pbtxt: the most seconds of one step. Without it there is no
watchdog."""
SIZE = 4096
HEAD = struct.Struct("<ddIB")  # start, limit, length of the JSON after it, state
ASK = signal.SIGUSR2
"""A worker that gets this signal writes down its Python stack."""
STACK = ".stack"
"""Suffix of the file with Python's stack trace of a worker: of its end, or on request."""
MAX_ID_CHARACTERS = 160  # characters of a request id
MAX_CALLS = 16


class State(IntEnum):
    """The state of a worker."""

    IDLE = 0
    WORKING = 1
    WAITING = 2
    """The worker waits for another model."""


@dataclass(frozen=True)
class Beat:
    """The last heartbeat of a worker.

    Attributes:
        state: The state of the worker.
        since: The start of the step, in seconds of `time.monotonic`.
        limit_s: How long the step may take; 0 means no limit.
        calls: Ids of the requests that it has.
        picture: A description of the pictures in them; empty while it is not known.
    """

    state: State = State.IDLE
    since: float = 0.0
    limit_s: float = 0.0
    calls: tuple[str, ...] = ()
    picture: str = ""


class Heartbeat:
    """Writes the heartbeat of one worker, which works on one batch of requests at a time.

    Args:
        limit_s: How long each step may take; 0 means no limit.
        prefix: Prefix of the file's path; None keeps the heartbeat inside the process.
    """

    def __init__(self, limit_s: float = 0.0, prefix: str | None = None) -> None:
        self._limit_s = limit_s
        self._memory = _map(prefix)
        self._details = b""
        self._write(State.IDLE)

    @classmethod
    def of_model(cls, config: Mapping[str, Any]) -> Heartbeat:
        """Return the heartbeat of a Triton worker, from the model's configuration.

        If a supervisor watches, the kernel will from now on kill the worker before Triton when
        memory runs out, because a worker can be replaced.
        """
        value = config.get("parameters", {}).get(PARAMETER, {}).get("string_value", "0")
        prefix = os.environ.get(VARIABLE)
        if prefix:
            raise_score()
            _write_faults(Path(f"{prefix}{os.getpid()}{STACK}"))
        return cls(float(value), prefix)

    @contextmanager
    def work(self, calls: Sequence[str], picture: str = "", more_s: float = 0.0) -> Iterator[None]:
        """Mark, for the length of a `with` block, that the worker processes a batch of requests.

        Args:
            calls: The requests' ids.
            picture: A description of the pictures in them.
            more_s: Extra time that the first step may take.
        """
        self.take(calls, picture, more_s)
        try:
            yield
        finally:
            self._write(State.IDLE)

    def take(self, calls: Sequence[str], picture: str, more_s: float = 0.0) -> None:
        """Begin a step with more details; see `work`."""
        ids = [call[-MAX_ID_CHARACTERS:] for call in calls[:MAX_CALLS]]
        details = json.dumps([ids, picture]).encode()
        self._details = details if len(details) <= SIZE - HEAD.size else b'[[], ""]'
        self._memory[HEAD.size : HEAD.size + len(self._details)] = self._details
        self._write(State.WORKING, more_s)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Mark, for the length of a `with` block, that the worker waits for another model."""
        self._write(State.WAITING)
        try:
            yield
        finally:
            self._write(State.WORKING)

    @contextmanager
    def step(self, limit_s: float) -> Iterator[None]:
        """Mark, for the length of a `with` block, a step that has a time limit of its own.

        Args:
            limit_s: How long it may take; 0 means no limit.
        """
        self._write(State.WORKING, limit_s - self._limit_s)
        try:
            yield
        finally:
            self._write(State.WORKING)

    def _write(self, state: State, more_s: float = 0.0) -> None:
        limit_s = self._limit_s and self._limit_s + more_s
        HEAD.pack_into(self._memory, 0, time.monotonic(), limit_s, len(self._details), int(state))


def state_of(memory: mmap.mmap) -> int:
    """Return the state in a worker's heartbeat, one of `State`."""
    return memory[HEAD.size - 1]


def read(prefix: str, pid: int) -> Beat:
    """Return the last heartbeat of a worker; an idle one if it has never written any."""
    with suppress(OSError, ValueError, struct.error):
        content = Path(f"{prefix}{pid}").read_bytes()
        since, limit_s, length, state = HEAD.unpack_from(content)
        calls, picture = json.loads(content[HEAD.size : HEAD.size + length] or b'[[], ""]')
        return Beat(State(state), since, limit_s, tuple(calls), picture)
    return Beat()


@dataclass(frozen=True)
class Heartbeats:
    """The heartbeats of a server's workers, for their supervisor.

    Attributes:
        prefix: Prefix of the files' paths.
    """

    prefix: str

    def read(self, pid: int) -> Beat:
        """Return the last heartbeat of a worker; an idle one if it has never written any."""
        return read(self.prefix, pid)

    def exists(self, pid: int) -> bool:
        """Tell whether a worker writes heartbeats."""
        return Path(f"{self.prefix}{pid}").exists()

    def read_stack(self, pid: int) -> str:
        """Return the stack trace that a worker wrote at its end or on request; may be empty."""
        with suppress(OSError):
            return Path(f"{self.prefix}{pid}{STACK}").read_text(errors="replace")
        return ""


def _write_faults(path: Path) -> None:
    with suppress(OSError):  # no space
        file = path.open("w")  # stays open as long as the worker lives
        faulthandler.enable(file)
        faulthandler.register(ASK, file)


def _map(prefix: str | None) -> mmap.mmap:
    """Return memory to write to: a file of its own, whose space is reserved now."""
    if prefix:
        with suppress(OSError):  # no space: the worker runs without a watchdog
            file = os.open(f"{prefix}{os.getpid()}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.posix_fallocate(file, 0, SIZE)
                return mmap.mmap(file, SIZE)
            finally:
                os.close(file)
    return mmap.mmap(-1, SIZE)


STOPPED_S = 0.6
"""Time after which a stopped process hangs. It is longer than one long check: a whole service may
be stopped and continued without any loss."""
MAX_LOOK_S = 0.5
"""Longest time between two checks that counts. After a longer time, this process was stopped,
too."""
STARVED = 10.0
"""After this many times its limit, any process counts as hung, also one that waits for another
model."""


class Process(Protocol):
    """A process that can hang."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def is_stopped(self) -> bool:
        """Tell whether it was stopped by a signal."""


ProcessT = TypeVar("ProcessT", bound=Process)


@dataclass
class _Step:
    """One step of a process's work, until the process starts the next."""

    beat: Beat
    is_stopped: bool
    queued_s: float
    seconds: float = 0.0


class Watchdog:
    """Compares the heartbeats of processes with the clock, from check to check.

    The time in which a process waits for a core does not count: others use the machine.

    Args:
        read_beat: Returns the last heartbeat of a process.
        clock: Returns the time in seconds.
        measure_queued: Returns the seconds that a process has waited for a core.
    """

    def __init__(
        self,
        read_beat: Callable[[int], Beat],
        clock: Callable[[], float],
        measure_queued: Callable[[int], float] = measure_queued_s,
    ) -> None:
        self._read_beat, self._clock, self._measure_queued = read_beat, clock, measure_queued
        self._last_look_s = clock()
        self._steps: dict[int, _Step] = {}

    def find(self, processes: Iterable[ProcessT]) -> list[tuple[ProcessT, Beat, str]]:
        """Return the hung processes, each with its heartbeat and the reason."""
        now = self._clock()
        elapsed_s = min(now - self._last_look_s, MAX_LOOK_S)
        self._last_look_s = now
        steps = {process.pid: self._follow(process, elapsed_s) for process in processes}
        self._steps = steps
        return [
            (process, step.beat, reason)
            for process in processes
            if (reason := self._hang_reason(process.pid, step := steps[process.pid]))
        ]

    def _follow(self, process: Process, elapsed_s: float) -> _Step:
        pid, is_stopped = process.pid, process.is_stopped
        beat = self._read_beat(pid)
        step = self._steps.get(pid)
        if step is None or step.beat != beat or step.is_stopped != is_stopped:
            is_watched = beat.state is State.WORKING and beat.limit_s > 0
            return _Step(beat, is_stopped, self._measure_queued(pid) if is_watched else 0.0)
        step.seconds += elapsed_s
        return step

    def _hang_reason(self, pid: int, step: _Step) -> str:
        """Return why a process counts as hung; empty when it does not."""
        if step.is_stopped:
            return "stopped" if step.seconds >= STOPPED_S else ""
        limit_s = step.beat.limit_s
        if step.beat.state is State.IDLE or not limit_s or step.seconds < limit_s:
            return ""
        if step.seconds < STARVED * limit_s:
            queued_s = self._measure_queued(pid) - step.queued_s
            if step.beat.state is State.WAITING or step.seconds - queued_s < limit_s:
                return ""
        return f"hung for {step.seconds:.1f} s"
