"""The database: connections and transactions of SQLite and PostgreSQL, and their errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from rapidfuzz.distance import Levenshtein
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError

from orchestrator.cameras.store.errors import RejectedValue, StoreError, StoreUnavailable
from orchestrator.errors import SettingsError

BUSY_TIMEOUT_S = 10.0
"""How long a connection waits for another process that writes to the same SQLite file."""
CONNECT_TIMEOUT_S = 5
SILENT_MS = 10_000
"""A connection ends when PostgreSQL's machine does not acknowledge what was sent for this time."""
LIMIT_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 3000"
"""A process that is frozen amid a transaction loses its locks after 3 s: others wait for them."""
SQLITE, POSTGRESQL = "sqlite", "postgresql"
PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "cache_size = -65536",
)
"""Each commit survives a power cut; deleted rows are overwritten; 64 MiB of pages are cached."""
to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Returns a value as compact JSON. `json.dumps` would make an encoder for each value."""


class Database:
    """Connections to one database.

    Args:
        url: Address in SQLAlchemy's form.
        busy_timeout_s: Longest wait for another writer of a SQLite file.

    Raises:
        SettingsError: The address is not one of SQLite or PostgreSQL.
    """

    def __init__(self, url: str, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.engine = _make_engine(url, busy_timeout_s)
        self._writing = self.engine.execution_options(begin="BEGIN IMMEDIATE")

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == POSTGRESQL

    def check(self) -> None:
        """Ask the database for a sign: the pool tests each connection that it gives out.

        Raises:
            StoreUnavailable: There is none.
        """
        with mapped_errors(), self.engine.connect():
            pass

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that reads.

        Raises:
            StoreError: The database cannot be used.
        """
        with mapped_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that writes; it is committed unless an error leaves it.

        Raises:
            StoreError: The database cannot be used.
        """
        with mapped_errors(), self._writing.begin() as connection:
            if self.is_postgresql:
                connection.exec_driver_sql(LIMIT_IDLE)
            yield connection

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Raise the errors of SQLAlchemy as those of the store.

    Raises:
        RejectedValue: The database does not accept a value.
        StoreUnavailable: The database cannot do it now.
        StoreError: Something else is wrong.
    """
    try:
        yield
    except DataError as error:
        raise RejectedValue(f"the database rejects a value: {_first_line(error)}") from error
    except DBAPIError as error:
        raise StoreUnavailable(_describe(error)) from error
    except SQLAlchemyError as error:
        raise StoreError(f"the database cannot be used: {_first_line(error)}") from error


def insert(connection: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that can be told what to do on a conflict."""
    if connection.dialect.name == POSTGRESQL:
        return postgresql.insert(table)
    return sqlite.insert(table)


def among(dialect: str, column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of the values of a parameter.

    PostgreSQL gets them as one array, so that the statement is the same for any number of them.
    """
    if dialect != POSTGRESQL:
        return column.in_(sa.bindparam(name, expanding=True))
    one = sa.BigInteger() if isinstance(column.type, sa.Integer) else sa.String()
    return column == sa.any_(sa.bindparam(name, type_=postgresql.ARRAY(one)))


def within_edits(text: str, wanted: str, edits: int) -> bool:
    """Tell whether a text is at most so many edits away from another one."""
    return Levenshtein.distance(text, wanted, score_cutoff=edits) <= edits


def _make_engine(url: str, busy_timeout_s: float) -> sa.Engine:
    try:
        address = sa.make_url(url)
    except SQLAlchemyError as error:
        raise SettingsError(f"store.url: {error}") from error
    if address.get_backend_name() == POSTGRESQL:
        # Without prepared statements, each search is planned for its own text.
        options: dict[str, Any] = {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "tcp_user_timeout": SILENT_MS,
            "prepare_threshold": None,
        }
        return _create(address.set(drivername="postgresql+psycopg"), options)
    if address.get_backend_name() != SQLITE or not address.database:
        shown = address.render_as_string(hide_password=True)
        raise SettingsError(f"store.url: wanted postgresql+psycopg: or sqlite:///file, got {shown}")
    engine = _create(address, {"timeout": busy_timeout_s, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _create(address: sa.URL, options: dict[str, Any]) -> sa.Engine:
    return sa.create_engine(
        address, connect_args=options, pool_pre_ping=True, json_serializer=to_json
    )


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says so
    connection.create_function("within_edits", 3, within_edits, deterministic=True)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: sa.Connection) -> None:
    """Take the lock at the start of a transaction that writes, when waiting is still possible."""
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def _describe(error: DBAPIError) -> str:
    reason = _first_line(error)
    if "is locked" in reason:
        return "the database is busy: another process writes to it. Try again"
    return f"the database cannot be used now: {reason}"


def _first_line(error: SQLAlchemyError) -> str:
    """Return the database's own message; SQLAlchemy's holds the statement and its values."""
    return (str(getattr(error, "orig", None) or error).splitlines() or [""])[0]
