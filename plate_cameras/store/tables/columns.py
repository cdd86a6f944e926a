"""The columns and indexes from which the tables of the store are made."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

METADATA = sa.MetaData()
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite numbers only rows of the type INTEGER by itself."""
TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
"""A text that sorts by its code points in both databases, so that prefixes are ranges."""
TIME: sa.Double[float] = sa.Double()
DIGEST = sa.LargeBinary(32)


def table(name: str, *parts: Any, **options: Any) -> sa.Table:
    return sa.Table(name, METADATA, *parts, **options)


def numbered_table(name: str, *parts: Any) -> sa.Table:
    return table(name, key("number", NUMBER), *parts, sqlite_autoincrement=True)


def required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Return columns of one type that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def counters(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, NUMBER, nullable=False, server_default="0") for name in names]


def key(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True)


def kept_s() -> sa.Column[float]:
    """Return the column of the time from which a row's age counts by the store's clock.

    Retention gives it to rows that have none. So nothing is older by it than it is.
    """
    return sa.Column("kept_s", TIME)


def partial_index(name: str, condition: str, *columns: str) -> sa.Index:
    """Return an index of the rows for which a condition holds."""
    where = sa.text(condition)
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)


def not_kept_index(table: str, condition: str = "kept_s IS NULL") -> sa.Index:
    return partial_index(f"ix_{table}_not_kept", condition, "number")


def pass_number(**options: Any) -> sa.Column[int]:
    return sa.Column(
        "pass_number", NUMBER, sa.ForeignKey("passes.number", ondelete="CASCADE"), **options
    )


def list_id() -> sa.Column[int]:
    on_list = sa.ForeignKey("lists.id", ondelete="CASCADE")
    return sa.Column("list_id", NUMBER, on_list, primary_key=True)
