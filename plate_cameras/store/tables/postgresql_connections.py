"""Makes, tests and gives out connections to PostgreSQL, and ends steps that take too long.

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

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import InvalidatePoolError

from plate_cameras.clocks import steady_s
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.tables.bounded_calls import BoundedCalls

LOOKS_S = 0.25
"""Time between two looks at the running steps."""
IDLE_S = 10.0
"""The thread ends after this time without a step."""


class Step:
    """A step with a limit.

    Attributes:
        ends_s: Steady time at which its connections are shut down.
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
        return min([limit_s, *(max(0.0, step.ends_s - self._clock()) for step in self._of_thread)])

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
                message = f"the database does not answer: it was given up after {limit_s:g} s"
                raise StoreUnavailable(message) from error
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
                step.connections = [other for other in step.connections if other is not connection]

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
        borrowed_socket = socket.socket(fileno=connection.fileno())
        try:
            borrowed_socket.shutdown(socket.SHUT_RDWR)
        finally:
            borrowed_socket.detach()


CONNECT_S = 3
"""Longest time to connect. The resolver of names may take longer; then it is given up."""
POOL_S = 3.0
"""Longest wait for a connection when all are in use."""
PING_S = 2.0
"""Longest wait for the answer of a connection that was not used for a while."""
SILENT_MS = 10_000
"""A connection ends when PostgreSQL's machine does not acknowledge what was sent for this time."""
MAX_CONNECTING = 4
"""Largest number of attempts to connect at once. Those that hang are given up, but each keeps its
thread."""


def limit_connections(engine: sa.Engine, limits: StepLimits, statement_s: float) -> None:
    """Give the connections of an engine limits: to connect, to answer a test, and to a step.

    Args:
        engine: An engine for psycopg, whose pool does not test connections by itself.
        limits: The limits of steps.
        statement_s: Longest time of a statement, by the server's own timeout, so that it does not
            work on for a client that has left.
    """
    connecting = BoundedCalls("the database", MAX_CONNECTING, CONNECT_S)
    timeout_ms = round(statement_s * 1000)

    def connect(dialect: Any, _: object, arguments: Any, options: Any) -> Any:
        def call() -> Any:
            connection = dialect.connect(*arguments, **options)
            _set_timeouts(connection, timeout_ms)
            return connection

        limit_s = limits.left_s(connecting.limit_s)
        connection = connecting.run(call, limit_s, drop=lambda late: late.close())
        limits.add(connection)
        return connection

    def note_new(_: object, record: Any) -> None:
        record.info["is_new"] = True

    def give_out(connection: Any, record: Any, _: object) -> None:
        limits.add(connection)
        if not record.info.pop("is_new", False):
            _ping(engine, limits, connection)

    def forget(connection: Any, _: object) -> None:
        limits.forget(connection)

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", note_new)
    event.listen(engine, "checkout", give_out)
    event.listen(engine, "checkin", forget)
    event.listen(engine, "close", forget)


def _set_timeouts(connection: Any, timeout_ms: int) -> None:
    """Set the server's own limits for a session."""
    names = "statement_timeout", "lock_timeout"
    settings = ", ".join(f"set_config('{name}', '{timeout_ms}', false)" for name in names)
    connection.execute(f"SELECT {settings}")
    connection.commit()


def _ping(engine: sa.Engine, limits: StepLimits, connection: Any) -> None:
    """Test a connection."""
    with limits.limit(PING_S) as step:
        limits.add(connection)
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # Not the error of the limit: the pool is to try a new connection.
            step.is_over = False
            raise InvalidatePoolError from error
