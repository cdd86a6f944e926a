"""Makes, tests and gives out connections to PostgreSQL, each within a limit."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import InvalidatePoolError

from plate_cameras.store.tables.bounded_calls import BoundedCalls
from plate_cameras.store.tables.step_limits import StepLimits

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
    """Test a connection.

    Raises:
        InvalidatePoolError: It does not answer; those made before it will not either.
    """
    with limits.limit(PING_S) as step:
        limits.add(connection)
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # Not the error of the limit: the pool is to try a new connection.
            step.is_over = False
            raise InvalidatePoolError from error
