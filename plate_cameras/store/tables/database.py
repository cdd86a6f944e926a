"""The database: connections and transactions of SQLite and PostgreSQL.

Each step has a limit, after which the database counts as away. PostgreSQL's connections are closed
then. A call of SQLite cannot be interrupted: on a disk that hangs it waits as long as the system.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.errors import SettingsError
from plate_cameras.store.tables.database_errors import map_errors, reject_value
from plate_cameras.store.tables.json_values import read_json
from plate_cameras.store.tables.postgresql_connections import (
    CONNECT_S,
    POOL_S,
    SILENT_MS,
    StepLimits,
    limit_connections,
)
from plate_cameras.store.tables.sqlite_connections import watch_connections

BUSY_TIMEOUT_S = 10.0
"""How long a connection waits for another process that writes to the same SQLite file."""
STEP_S = 8.0
"""Longest time of a step. The database counts as away after it."""
SEARCH_S = 30.0
"""Timeout of searches and counts, which may read many rows."""
LONG_S = 600.0
"""Timeout of exports, retention, deletion of a plate, and VACUUM."""
MIGRATION_S = 6 * 3600.0
"""Timeout of changes of the tables."""
MAX_IDLE_S = 3.0
"""A process that is frozen amid a transaction loses its locks after this time."""
SQLITE, POSTGRESQL = "sqlite", "postgresql"
EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""Returns a value as compact JSON. `json.dumps` would make an encoder for each value."""


class Database:
    """Connections to one database.

    Args:
        url: Address in SQLAlchemy's form.
        busy_timeout_s: Longest wait for another writer of a SQLite file.

    Raises:
        SettingsError: The address is not one of SQLite or PostgreSQL.
    """

    def __init__(
        self, url: str, busy_timeout_s: float = BUSY_TIMEOUT_S, *, step_s: float = STEP_S
    ) -> None:
        self.engine = _make_engine(url, busy_timeout_s)
        self._writing = self.engine.execution_options(begin="BEGIN IMMEDIATE")
        self._step_s = step_s
        self._limits = StepLimits()
        if self.is_postgresql:
            limit_connections(self.engine, self._limits, step_s)

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == POSTGRESQL

    @property
    def file(self) -> str | None:
        """The file of SQLite; None for PostgreSQL."""
        return None if self.is_postgresql else self.engine.url.database

    def check(self) -> None:
        """Check that the database answers: the pool tests each connection that it gives out.

        Raises:
            StoreUnavailable: It does not.
        """
        with self._step(), self.engine.connect():
            pass

    @contextmanager
    def reading(self, limit_s: float | None = None) -> Iterator[sa.Connection]:
        """Open a transaction that reads.

        Args:
            limit_s: Longest time of the transaction; None for that of short steps.
        """
        with self._step(limit_s), self.engine.begin() as connection:
            if limit_s and self.is_postgresql:
                set_limits(connection, {"statement": limit_s})
            yield connection

    @contextmanager
    def writing(
        self, limit_s: float | None = None, *, idle_s: float = MAX_IDLE_S
    ) -> Iterator[sa.Connection]:
        """Open a transaction that writes; it is committed unless an error leaves it.

        Args:
            limit_s: Longest time of the transaction; None for that of short steps.
            idle_s: Longest time between two statements.
        """
        with self._step(limit_s), self._writing.begin() as connection:
            if self.is_postgresql:
                limits_s = {"idle_in_transaction_session": idle_s}
                limits_s |= {"statement": limit_s, "lock": limit_s} if limit_s else {}
                set_limits(connection, limits_s)
            yield connection

    @contextmanager
    def free(self, limit_s: float = LONG_S) -> Iterator[sa.Connection]:
        """Open a connection without a transaction, for statements that allow none."""
        with self._step(limit_s), self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT", begin="")
            self._limit_session(connection, limit_s)
            try:
                yield connection
                self._limit_session(connection, self._step_s)
            except BaseException:
                connection.invalidate()  # with these limits, nobody else may get it
                raise

    def empty_log(self) -> bool:
        """Write SQLite's log into its file, and cut it. Return False if a reader still needs it."""
        with self.free() as connection:
            busy, _, _ = connection.exec_driver_sql(EMPTY_LOG).one()
        return not busy

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _limit_session(self, connection: sa.Connection, limit_s: float) -> None:
        if self.is_postgresql:
            limits_s = {"statement": limit_s, "lock": limit_s}
            set_limits(connection, limits_s, is_local=False)

    @contextmanager
    def _step(self, limit_s: float | None = None) -> Iterator[None]:
        if not self.is_postgresql:
            with map_errors():
                yield
            return
        with self._limits.limit(limit_s or self._step_s), map_errors():
            yield


def set_limits(
    connection: sa.Connection, limits_s: Mapping[str, float], *, is_local: bool = True
) -> None:
    """Set timeouts of PostgreSQL, in one statement.

    Args:
        connection: The connection.
        limits_s: Seconds by the names of settings without `_timeout`.
        is_local: True for this transaction alone.
    """
    settings = ", ".join(
        f"set_config('{name}_timeout', '{round(limit_s * 1000)}', {str(is_local).lower()})"
        for name, limit_s in limits_s.items()
    )
    connection.exec_driver_sql(f"SELECT {settings}")


def is_postgresql(connection: sa.Connection) -> bool:
    return connection.dialect.name == POSTGRESQL


def lock(connection: sa.Connection, number: int, *, is_shared: bool = False) -> None:
    """Take a lock of PostgreSQL until the end of this transaction.

    In SQLite, a transaction that writes keeps all others from it anyway.
    """
    if is_postgresql(connection):
        name = "pg_advisory_xact_lock_shared" if is_shared else "pg_advisory_xact_lock"
        connection.execute(sa.select(getattr(sa.func, name)(number)))


def insert(connection: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that may have a clause for conflicts."""
    if is_postgresql(connection):
        return postgresql.insert(table)
    return sqlite.insert(table)


def upsert(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], key: str
) -> None:
    """Insert rows, or replace the values of those that have the same key."""
    statement = insert(connection, table)
    values = {name: statement.excluded[name] for name in rows[0] if name != key}
    connection.execute(statement.on_conflict_do_update(index_elements=[key], set_=values), rows)


def among(dialect: str, column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of the values of a parameter.

    PostgreSQL gets them as one array, so that the statement is the same for any number of them.
    """
    if dialect != POSTGRESQL:
        return column.in_(sa.bindparam(name, expanding=True))
    element_type = sa.BigInteger() if isinstance(column.type, sa.Integer) else sa.String()
    return column == sa.any_(sa.bindparam(name, type_=postgresql.ARRAY(element_type)))


def _make_engine(url: str, busy_timeout_s: float) -> sa.Engine:
    try:
        address = sa.make_url(url)
    except SQLAlchemyError as error:
        raise SettingsError(f"store.url: {error}") from error
    if address.get_backend_name() == POSTGRESQL:
        # Without prepared statements, each search is planned for its own text.
        options: dict[str, Any] = {
            "connect_timeout": CONNECT_S,
            "tcp_user_timeout": SILENT_MS,
            "prepare_threshold": None,
        }
        address = address.set(drivername="postgresql+psycopg")
        return _create(address, options, pool_timeout=POOL_S)
    if address.get_backend_name() != SQLITE or not address.database:
        safe_url = address.render_as_string(hide_password=True)
        forms = "postgresql+psycopg: or sqlite:///file"
        raise SettingsError(f"store.url: wanted {forms}, got {safe_url}")
    options = {"timeout": busy_timeout_s, "check_same_thread": False}
    engine = _create(address, options, pool_pre_ping=True)
    watch_connections(engine)
    return engine


def _create(address: sa.URL, options: dict[str, Any], **pool: Any) -> sa.Engine:
    as_json = {"json_serializer": to_json, "json_deserializer": read_json}
    engine = sa.create_engine(address, connect_args=options, **as_json, **pool)
    event.listen(engine, "handle_error", reject_value)
    return engine


BITS = 53
"""Bits of a revision: JSON's numbers are exact up to there."""


def new_revision() -> int:
    """Return a number by which another process sees that its copy is old.

    It is random. A counter would come again after a deletion, or with a restored backup.
    """
    return secrets.randbits(BITS)
