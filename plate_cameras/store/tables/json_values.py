"""Reads columns. A damaged value of one row must not fail the query of all others.

PostgreSQL keeps only values of a column's type, and checks JSON. SQLite stores any value.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf
from typing import Any, TypeVar

from orchestrator.errors import ParameterError

LOG = logging.getLogger(__name__)
MAX_NUMBER = 1e11
"""Larger numbers are damaged: no calendar has such a time."""
FIRST_S, LAST_S = -62e9, 64e9
"""Times of the years 5 to 3998, which can be shown in all zones."""
AFTER_ALL = 1e308
"""Place of a value that is no number. It can be part of a cursor, unlike infinity."""
DAMAGE = (TypeError, ValueError, LookupError, ParameterError)
Value = TypeVar("Value")
ColumnReading = tuple[Callable[[Any], Any], Any]
"""A function that reads a column, and the value that stands for a damaged one."""


def read_json(text: str) -> Any:
    """Return the value of a column; if it is no JSON, its text, which no column may have."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_column(owner: str, name: str, value: Any, read: Callable[[Any], Value]) -> Value | None:
    """Return a column's value as a function reads it; None if it is damaged, which is logged.

    Args:
        owner: The row, for the log: its table and its key.
        name: Name of the column.
        value: The value that the database has.
        read: Returns the value, or raises one of `DAMAGE`.
    """
    try:
        return read(value)
    except DAMAGE:
        warn_of_damage(owner, name)
        return None


def read_columns(owner: str, row: Any, columns: Mapping[str, ColumnReading]) -> dict[str, Any]:
    """Return the values of a row's columns by their names, see `read_column`."""
    values = {
        name: read_column(owner, name, row[name], read) for name, (read, _) in columns.items()
    }
    return {name: columns[name][1] if value is None else value for name, value in values.items()}


@lru_cache(maxsize=1000)
def warn_of_damage(owner: str, name: str) -> None:
    """Log a damaged value; pages read the same rows again and again."""
    LOG.error("%s: its %s cannot be read: the value in the database is damaged", owner, name)


def to_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(to_text, _list(value)))


def to_numbers(value: Any, count: int) -> tuple[float, ...]:
    numbers = tuple(map(to_number, _list(value)))
    if len(numbers) != count:
        raise ValueError(f"wanted {count} numbers, got {len(numbers)}")
    return numbers


def to_box(value: Any) -> tuple[float, ...]:
    return to_numbers(value, 4)


def to_pairs(value: Any) -> tuple[tuple[str, float], ...]:
    """Return texts with their scores."""
    return tuple((to_text(text), to_number(score)) for text, score in _list(value))


def to_crossings(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {
            "line": to_text(crossing["line"]),
            "side": to_text(crossing["side"]),
            "time_s": to_time(crossing["time_s"]),
        }
        for crossing in _list(value)
    )


def to_best(value: Any) -> Mapping[str, Any]:
    """Return the fields of the best frame."""
    table = to_table(value)
    part = table.get("part")
    fields = {
        "time_s": to_time(table["time_s"]),
        "box": [*to_box(table["box"])],
        "size_wh": [*map(int, to_numbers(table["size_wh"], 2))],
        "part": part and [*to_box(part)],
        "blur": to_text(table.get("blur", "")),
    }
    return {**table, **fields}


def to_table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("wanted a table")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("wanted a list")
    return value


def to_digest(value: Any) -> str | None:
    """Return the hash of a picture in hexadecimal digits; None for none."""
    if value is not None and not isinstance(value, bytes):
        raise TypeError("wanted bytes")
    return value.hex() if value else None


def to_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("wanted a text")
    return value


def to_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("wanted a number")
    if not abs(value) < MAX_NUMBER:
        raise ValueError("wanted a smaller number")
    return value


def to_time(value: Any) -> float:
    """Return a Unix time that can be shown."""
    if not FIRST_S <= to_number(value) <= LAST_S:
        raise ValueError("wanted a time of the years 5 to 3998")
    return float(value)


def to_place(value: Any) -> float:
    """Return a number by which a value is sorted as SQLite does it: a text comes after all."""
    is_number = isinstance(value, (int, float)) and abs(value) < inf
    return float(value) if is_number else AFTER_ALL


def to_optional_number(value: Any) -> float | None:
    return None if value is None else to_number(value)


def to_share(value: Any) -> float:
    """Return a score, a number in [0, 1]."""
    if not 0 <= round(to_number(value), 4) <= 1:
        raise ValueError("wanted a number in [0, 1]")
    return float(value)


def to_count(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("wanted a whole number")
    return value
