"""Ends steps of the database that take too long, by closing their connections.

A server that was stopped, or whose disk hangs, answers nothing, while its machine acknowledges all
that is sent. The driver waits for the answer without end, and the kernel sees nothing wrong. So a
thread looks at all running steps, and shuts down the sockets of those whose time is over. The
driver's wait then ends with an error, and the pool discards the connection.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Thread, local
from typing import Any

from plate_cameras.clocks import steady_s
from plate_cameras.store.errors import StoreUnavailable

LOOKS_S = 0.25
"""Time between two looks at the running steps."""
IDLE_S = 10.0
"""Time without steps after which the thread ends."""


class Step:
    """A step with a limit.

    Attributes:
        ends_s: Moment at which its connections are closed.
        is_over: True if they were.
    """

    def __init__(self, ends_s: float) -> None:
        self.ends_s = ends_s
        self.is_over = False
        self.connections: list[Any] = []


class StepLimits:
    """Limits the steps of one database."""

    def __init__(self, clock: Callable[[], float] = steady_s) -> None:
        self._clock = clock
        self._steps: set[Step] = set()
        self._changed = Condition()
        self._own = local()
        self._is_watched = False

    def left_s(self, limit_s: float) -> float:
        """Return a limit, or what is left of the limits of this thread's steps if that is less."""
        return min([limit_s, *(max(0.0, one.ends_s - self._clock()) for one in self._of_thread)])

    @contextmanager
    def limit(self, limit_s: float) -> Iterator[Step]:
        """Limit what this thread does inside a `with` block.

        Raises:
            StoreUnavailable: The time was over before the block was left by an error.
        """
        step = Step(self._clock() + limit_s)
        self._begin(step)
        try:
            yield step
        except Exception as error:
            if step.is_over:
                waited = f"the database does not answer: it was given up after {limit_s:g} s"
                raise StoreUnavailable(waited) from error
            raise
        finally:
            self._end(step)

    def add(self, connection: Any) -> None:
        """Let a connection belong to the steps of this thread.

        Raises:
            StoreUnavailable: Their time is over.
        """
        with self._changed:
            for step in self._of_thread:
                if step.is_over:
                    raise StoreUnavailable("the database does not answer")
                step.connections.append(connection)

    def forget(self, connection: Any) -> None:
        """Leave a connection alone that is closed: another one may get its descriptor."""
        with self._changed:
            for step in self._steps:
                step.connections = [one for one in step.connections if one is not connection]

    @property
    def _of_thread(self) -> list[Step]:
        if not hasattr(self._own, "steps"):
            self._own.steps = []
        steps: list[Step] = self._own.steps
        return steps

    def _begin(self, step: Step) -> None:
        with self._changed:
            if not self._is_watched:
                self._start_watch()
            self._steps.add(step)
        self._of_thread.append(step)

    def _start_watch(self) -> None:
        try:
            Thread(target=self._watch, name="database-limits", daemon=True).start()
        except RuntimeError as error:
            raise StoreUnavailable(f"the database cannot be asked: {error}") from error
        self._is_watched = True

    def _end(self, step: Step) -> None:
        self._of_thread.remove(step)
        with self._changed:
            self._steps.discard(step)

    def _watch(self) -> None:
        idle_s = 0.0
        while True:
            with self._changed:
                self._changed.wait(LOOKS_S)
                idle_s = 0.0 if self._steps else idle_s + LOOKS_S
                if idle_s >= IDLE_S:
                    self._is_watched = False
                    return
                now_s = self._clock()
                for step in self._steps:
                    if step.ends_s <= now_s and not step.is_over:
                        step.is_over = True
                        for connection in step.connections:
                            shut_down(connection)


def shut_down(connection: Any) -> None:
    """Shut down the socket of a connection, so that a wait for it ends in its own thread."""
    with suppress(Exception):  # it is closed already
        borrowed = socket.socket(fileno=connection.fileno())
        try:
            borrowed.shutdown(socket.SHUT_RDWR)
        finally:
            borrowed.detach()
