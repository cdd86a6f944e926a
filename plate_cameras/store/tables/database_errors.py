"""Maps the errors of SQLAlchemy and of the drivers below it to those of the store.

An event with a value that the database can never take is put aside. When the database cannot take
any value now, events wait. The class of PostgreSQL's SQLSTATE, or the class of the driver's
exception (PEP 249), tells the two cases apart.

Source: PostgreSQL's documentation, appendix A, "Error Codes".
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from plate_cameras.store.errors import RejectedValue, StoreError, StoreUnavailable

OF_VALUES = frozenset(("21", "22", "23", "44", "54"))
"""Classes of a value: cardinality, data, integrity, check option, program limits."""
OF_THE_MOMENT = frozenset(
    ("08", "25", "28", "2D", "3B", "3D", "40", "53", "55", "57", "58", "F0", "72")
)
"""Classes of the server's state: connection, transaction, login, resources, operator, system.
The others, such as 42 (a table or a right is missing) and XX, may be due to either."""
NUMBERS: dict[int, type[StoreError]] = {
    **dict.fromkeys((errno.EOVERFLOW, errno.ERANGE, errno.EDOM), RejectedValue),
    errno.EINVAL: StoreError,
}
"""Errors of the system that are due to a value, such as a time that no calendar has."""
DRIVERS = ("sqlite3", "psycopg")
REJECTED = frozenset(("DataError", "IntegrityError"))
UNCLEAR = frozenset(("NotSupportedError", "ProgrammingError"))
BAD_PARAMETERS = "binding parameter", "adapt type", "not supported", "too large"


@contextmanager
def map_errors() -> Iterator[None]:
    """Raise the errors of a step of the database as those of the store.

    Raises:
        RejectedValue: The database does not accept a value.
        StoreUnavailable: The database cannot do it now.
        StoreError: Something else is wrong: the database, or what was asked of it.
    """
    try:
        yield
    except (SQLAlchemyError, OSError, OverflowError, UnicodeError) as error:
        raise to_store_error(error) from error
    except Exception as error:
        if not type(error).__module__.startswith(DRIVERS):
            raise
        raise to_store_error(error) from error


def to_store_error(error: Exception) -> StoreError:
    """Return the error of the store for one of SQLAlchemy, of a driver, or of the system."""
    cause = error.orig or error if isinstance(error, StatementError) else error
    kind, reason = _kind_of(cause), _first_line(cause)
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
        kind = RejectedValue  # a value that SQLAlchemy cannot hand to the driver
    if kind is RejectedValue:
        return RejectedValue(f"the database rejects a value: {reason}")
    if kind is StoreError:
        return StoreError(f"the database cannot be used: {reason}")
    if "is locked" in reason:
        return StoreUnavailable("the database is busy: another process writes to it. Try again")
    return StoreUnavailable(f"the database cannot be used now: {reason}")


def reject_value(context: ExceptionContext) -> RejectedValue | None:
    """Return the error for a value that a database driver cannot convert."""
    error = context.original_exception
    if isinstance(error, (TypeError, ValueError, OverflowError)):
        return RejectedValue(f"the database rejects a value: {_first_line(error)}")
    return None


def _kind_of(error: BaseException) -> type[StoreError]:
    if isinstance(error, (OverflowError, UnicodeError)):
        return RejectedValue
    if isinstance(error, OSError):
        return NUMBERS.get(error.errno or 0, StoreUnavailable)
    if isinstance(error, PoolTimeout):
        return StoreUnavailable
    if state := getattr(error, "sqlstate", None):
        return _kind_of_state(state)
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & REJECTED:
        return RejectedValue
    if names & {*UNCLEAR, "InterfaceError"} and any(
        parameter in str(error) for parameter in BAD_PARAMETERS
    ):
        return RejectedValue
    if isinstance(error, SQLAlchemyError) or (names & UNCLEAR and "closed" not in str(error)):
        return StoreError
    return StoreUnavailable


def _kind_of_state(state: str) -> type[StoreError]:
    if state[:2] in OF_VALUES:
        return RejectedValue
    return StoreUnavailable if state[:2] in OF_THE_MOMENT else StoreError


def _first_line(error: BaseException) -> str:
    """Return the database's own message; SQLAlchemy's holds the statement and its values."""
    reason = error.strerror if isinstance(error, OSError) else ""
    return reason or (str(error).splitlines() or [type(error).__name__])[0]
