"""Every database error becomes a store error, which tells whether a retry helps."""

import errno
import sqlite3
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import errors as pg
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from plate_cameras.store.errors import RejectedValue, StoreError, StoreUnavailable, UnknownName
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.database_errors import map_errors

NUMBERS = sa.Table(
    "numbers",
    sa.MetaData(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("text", sa.String, index=True),
    sa.Column("share", sa.Double, nullable=False),
    sa.Column("document", sa.JSON),
)
SYSTEM = (errno.EAGAIN, errno.EMFILE, errno.ENOSPC, errno.EROFS, errno.EIO, errno.EPIPE)
ROW = {"number": 1, "text": "a", "share": 0.5, "document": {}}


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    own_database = Database(url)
    with own_database.writing() as connection:
        NUMBERS.create(connection)
    yield own_database
    with own_database.writing() as connection:
        NUMBERS.drop(connection)
    own_database.close()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"number": 2**63}, id="beyond 64 bits"),
        pytest.param({"number": 10**40}, id="far beyond"),
        pytest.param({"text": "\ud800"}, id="half of a character"),
        pytest.param({"share": None}, id="nothing where a value must be"),
        pytest.param({"document": {"text": "\ud800"}}, id="half of a character in JSON"),
        pytest.param({"document": {"share": float("nan")}}, id="not a number in JSON"),
        pytest.param({"document": {1, 2}}, id="no JSON"),
        pytest.param({"text": ["a", object()]}, id="no value of SQL"),
    ],
)
def test_a_value_that_no_database_takes_is_rejected(
    database: Database, wrong: dict[str, object]
) -> None:
    with pytest.raises(RejectedValue), database.writing() as connection:
        connection.execute(sa.insert(NUMBERS).values(ROW | wrong))


@pytest.mark.server
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\x00b", id="NUL"),
        pytest.param("".join(map(chr, range(0x4E00, 0x7128))), id="longer than an index allows"),
    ],
)
def test_a_text_that_postgresql_does_not_take_is_rejected(database: Database, text: str) -> None:
    with pytest.raises(RejectedValue), database.writing() as connection:
        connection.execute(sa.insert(NUMBERS).values(ROW | {"text": text}))


def test_a_row_that_exists_is_rejected_and_a_missing_table_is_no_fault_of_a_value(
    database: Database,
) -> None:
    with database.writing() as connection:
        connection.execute(sa.insert(NUMBERS).values(ROW))
    with pytest.raises(RejectedValue), database.writing() as connection:
        connection.execute(sa.insert(NUMBERS).values(ROW))
    with pytest.raises(StoreError) as caught, database.reading() as connection:
        connection.exec_driver_sql("SELECT 1 FROM missing")
    assert not isinstance(caught.value, RejectedValue)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        *((state, RejectedValue) for state in ("22021", "22P02", "22003", "23502", "23505")),
        *((state, RejectedValue) for state in ("21000", "44000", "54000", "54001")),
        *((state, StoreUnavailable) for state in ("08006", "25006", "28P01", "3D000", "40001")),
        *((state, StoreUnavailable) for state in ("40P01", "53100", "53300", "55P03", "57014")),
        *((state, StoreUnavailable) for state in ("57P01", "57P03", "58030")),
        *((state, StoreError) for state in ("42P01", "42501", "0A000", "P0001", "XX000")),
    ],
)
def test_the_class_of_a_state_decides(state: str, kind: type[StoreError]) -> None:
    error = pg.lookup(state)("as the server says")
    with pytest.raises(StoreError, match="as the server says") as caught, map_errors():
        raise DBAPIError.instance("INSERT", {"text": "secret"}, error, psycopg.Error)  # type: ignore[misc]

    assert type(caught.value) is kind
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite3.OperationalError("disk I/O error"), StoreUnavailable),
        (sqlite3.DatabaseError("malformed"), StoreUnavailable),
        (sqlite3.DataError("string or blob too big"), RejectedValue),
        (sqlite3.IntegrityError("NOT NULL"), RejectedValue),
        (sqlite3.InterfaceError("Error binding parameter 1"), RejectedValue),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), StoreUnavailable),
        (psycopg.OperationalError("server closed"), StoreUnavailable),
        (psycopg.DataError("NUL (0x00) bytes"), RejectedValue),
        (psycopg.ProgrammingError("cannot adapt type"), RejectedValue),
        (psycopg.ProgrammingError("syntax"), StoreError),
        (pg.NumericValueOutOfRange("out of range"), RejectedValue),
        (PoolTimeout("QueuePool limit"), StoreUnavailable),
        (InvalidRequestError("wrong use"), StoreError),
        (OSError(errno.EOVERFLOW, "no such year"), RejectedValue),
        (OSError(errno.EINVAL, "invalid argument"), StoreError),
        (OverflowError("int too large"), RejectedValue),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), RejectedValue),
        *((OSError(number, "the system says no"), StoreUnavailable) for number in SYSTEM),
    ],
)
def test_errors_below_sqlalchemy_are_those_of_the_store(
    error: Exception, kind: type[StoreError]
) -> None:
    with pytest.raises(StoreError) as caught, map_errors():
        raise error

    assert type(caught.value) is kind
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [KeyError("a bug"), UnknownName("no pass"), MemoryError(), ValueError("a bug")]
)
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, map_errors():
        raise error

    assert caught.value is error
