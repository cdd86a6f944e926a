"""Writes many rows of a table at once, at the least cost that each database allows.

PostgreSQL gets all rows as one JSON value: one statement is sent, parsed and planned for all of
them. SQLite runs one prepared statement for each row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.tables.database import is_postgresql, to_json

Row = dict[str, Any]


def _to_bytea(value: bytes) -> str:
    return f"\\x{value.hex()}"


TO_RECORDS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_to_bytea).encode


def write_rows(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Row], on_conflict: str = ""
) -> None:
    """Insert rows that all have the same columns.

    Args:
        connection: The transaction.
        table: The table.
        rows: Values by the names of columns.
        on_conflict: The clause for rows that exist, see `keep_first` and `replace_by`.
    """
    if not rows:
        return
    names = tuple(rows[0])
    if is_postgresql(connection):
        records = TO_RECORDS(rows)
        connection.exec_driver_sql(_from_records(table, names, on_conflict), (records,))
    else:
        values = _to_values(table, names, rows)
        connection.exec_driver_sql(_from_values(table, names, on_conflict), values)


def keep_first(*key: str) -> str:
    """Return the clause that leaves a row as it is when another one has its key."""
    return f" ON CONFLICT ({', '.join(key)}) DO NOTHING"


def replace_by(key: str, table: sa.Table, *kept_columns: str) -> str:
    """Return the clause that replaces a row when another one has its key.

    Args:
        key: The column of the key, or several with commas between them.
        table: The table.
        kept_columns: Columns whose values stay.
    """
    fixed_names = (*key.split(", "), *kept_columns)
    names = [column.name for column in table.c if column.name not in fixed_names]
    values = ", ".join(f"{name} = excluded.{name}" for name in names)
    return f" ON CONFLICT ({key}) DO UPDATE SET {values}"


@cache
def _from_records(table: sa.Table, names: tuple[str, ...], on_conflict: str) -> str:
    columns = ", ".join(names)
    source = f"json_populate_recordset(NULL::{table.name}, %s)"
    return f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {source}{on_conflict}"


@cache
def _from_values(table: sa.Table, names: tuple[str, ...], on_conflict: str) -> str:
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks}){on_conflict}"


def _to_values(
    table: sa.Table, names: tuple[str, ...], rows: Sequence[Row]
) -> list[tuple[Any, ...]]:
    are_json = [isinstance(table.c[name].type, sa.JSON) for name in names]
    return [
        tuple(
            to_json(row[name]) if is_json else row[name]
            for name, is_json in zip(names, are_json, strict=True)
        )
        for row in rows
    ]
