"""Reads columns of JSON. A damaged value of one row must not fail the query of all others."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from orchestrator.errors import ParameterError

LOG = logging.getLogger(__name__)
MAX_NUMBER = 1e11
"""Larger numbers are damaged: no calendar has such a time."""
DAMAGE = (TypeError, ValueError, LookupError, ParameterError)
Value = TypeVar("Value")


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


@lru_cache(maxsize=1000)
def warn_of_damage(owner: str, name: str) -> None:
    """Log a damaged value; pages read the same rows again and again."""
    LOG.error("%s: its %s cannot be read: the value in the database is damaged", owner, name)


def to_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, _list(value)))


def to_numbers(value: Any, count: int) -> tuple[float, ...]:
    numbers = tuple(map(_number, _list(value)))
    if len(numbers) != count:
        raise ValueError(f"wanted {count} numbers, got {len(numbers)}")
    return numbers


def to_box(value: Any) -> tuple[float, ...]:
    return to_numbers(value, 4)


def to_pairs(value: Any) -> tuple[tuple[str, float], ...]:
    """Return texts with their scores."""
    return tuple((_text(text), _number(score)) for text, score in _list(value))


def to_crossings(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {
            "line": _text(crossing["line"]),
            "side": _text(crossing["side"]),
            "time_s": _number(crossing["time_s"]),
        }
        for crossing in _list(value)
    )


def to_best(value: Any) -> Mapping[str, Any]:
    """Return the fields of the best frame."""
    table = to_table(value)
    part = table.get("part")
    fields = {
        "time_s": _number(table["time_s"]),
        "box": [*to_box(table["box"])],
        "size_wh": [*map(int, to_numbers(table["size_wh"], 2))],
        "part": part and [*to_box(part)],
        "blur": _text(table.get("blur", "")),
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


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("wanted a text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("wanted a number")
    if not abs(value) < MAX_NUMBER:
        raise ValueError("wanted a smaller number")
    return value
