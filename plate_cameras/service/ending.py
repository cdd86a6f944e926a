"""The end of the command: requested by signals, reported, limited, and made in steps."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from plate_cameras.clocks import steady_s

END_S = 30.0
"""Longest time from a signal to the end of the process. `--help` and the pages name it."""
TELL_S = 3.0
"""Time after which the command says what it waits for."""
STOPS = (signal.SIGINT, signal.SIGTERM)
STDERR = 2
WRITABLE_S = 0.5
"""Longest wait to write to a standard error that is not read."""


def say_at_once(text: str) -> None:
    """Print a line to the standard error past all buffers, if it can be printed now."""
    with suppress(OSError, ValueError):
        if select.select([], [STDERR], [], WRITABLE_S)[1]:
            os.write(STDERR, f"{text}\n".encode(errors="backslashreplace"))


class Ending:
    """Ends the process within a limit, even if a disk, a database or a thread hangs.

    The first signal asks the command to end by itself. The second one, or the limit, ends the
    process at once, with exit status 1.

    Args:
        limit_s: Longest time from the first signal to the end.
        tell_s: Time after which the command says what it waits for.
        say: Prints a line for people.
        outlives: True if the limit of a signal also holds after the `with` block, until the process
            ends.

    Attributes:
        describe: Returns what the command still waits for; may be set at any time.
    """

    def __init__(
        self,
        limit_s: float = END_S,
        *,
        tell_s: float = TELL_S,
        exit_: Callable[[int], object] = os._exit,
        say: Callable[[str], None] = say_at_once,
        outlives: bool = False,
    ) -> None:
        self.describe: Callable[[], str] = lambda: ""
        self._limit_s, self._tell_s = limit_s, tell_s
        self._exit, self._say, self._outlives = exit_, say, outlives
        self._calls: list[Callable[[], object]] = []
        self._is_asked = self._is_signalled = False
        self._depth = 0
        self._news, self._over = threading.Event(), threading.Event()

    @property
    def is_asked(self) -> bool:
        """True if the command is to end."""
        return self._is_asked

    def ask(self) -> None:
        """Ask the command to end by itself; the limit begins."""
        self._is_asked = True
        self._news.set()
        for call in [*self._calls]:
            call()

    @contextmanager
    def calling(self, call: Callable[[], object]) -> Iterator[None]:
        """Call a function when the command is asked to end, inside a `with` block.

        A signal may come at any place of the main thread.
        """
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Take the signals inside a `with` block, and limit its end. Blocks may be nested."""
        self._depth += 1
        if self._depth > 1 or threading.current_thread() is not threading.main_thread():
            try:
                yield
            finally:
                self._depth -= 1
            return
        # Now: later there may be no thread to start.
        threading.Thread(target=self._watch, name="ending", daemon=True).start()
        handlers = {number: signal.signal(number, self._take_signal) for number in STOPS}
        try:
            yield
        finally:
            self._depth -= 1
            if not (self._outlives and self._is_signalled):
                self._over.set()
                self._news.set()
                for number, handler in handlers.items():
                    signal.signal(number, handler)

    def _take_signal(self, *_: object) -> None:
        if self.is_asked:
            self._end("ended at once by a second signal")
        else:
            self._is_signalled = True
            self.ask()

    def _watch(self) -> None:
        """Wait until the command is to end, and then for its end."""
        self._news.wait()
        deadline_s = steady_s() + self._limit_s
        if self._over.wait(min(self._tell_s, self._limit_s)):
            return
        steps = self._describe() or "its threads"
        self._say(f"plates: ending, within {self._limit_s:g} s. It waits for {steps}")
        if not self._over.wait(max(0.0, deadline_s - steady_s())):
            self._end(f"ended after {self._limit_s:g} s")

    def _end(self, how: str) -> None:
        steps = self._describe()
        self._say(f"plates: {how}" + (f", without {steps}" if steps else ""))
        self._exit(1)

    def _describe(self) -> str:
        try:
            return self.describe()
        except Exception:  # other threads may change what it reads
            return ""


async def run_until_asked(ending: Ending, steps: Sequence[Coroutine[Any, Any, Any]]) -> None:
    """Run steps until the first of them ends, or until the command is asked to end.

    The others are cancelled. An exception of a step is raised.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    waits = {asyncio.ensure_future(step) for step in (*steps, stop.wait())}
    with ending.calling(lambda: loop.call_soon_threadsafe(stop.set)):
        if ending.is_asked:
            stop.set()
        try:
            ended_tasks, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
    failures = [error for task in ended_tasks if (error := task.exception())]
    if failures:
        raise failures[0]


LOG = logging.getLogger(__name__)


class Closing:
    """Runs the steps of the end, and knows which of them still run."""

    def __init__(self, count_left: Callable[[], int]) -> None:
        self._count_left = count_left
        self._pending: tuple[str, ...] = ()  # replaced as a whole: another thread reads it

    def describe(self) -> str:
        """Return the steps that still run, and the number of events to store, as a text."""
        count = self._count_left()
        noun = "event that is" if count == 1 else "events that are"
        return ", ".join([*self._pending, *([f"{count} {noun} not stored"] if count else [])])

    async def run(self, name: str, step: Callable[[], Awaitable[object]]) -> None:
        """Run one step. If it fails, that is logged, and the others still run."""
        with self._noting(name):
            try:
                await step()
            except Exception:
                LOG.exception("%s could not be ended", name)

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        self._pending = (*self._pending, name)
        try:
            yield
        finally:
            self._pending = tuple(step for step in self._pending if step != name)
