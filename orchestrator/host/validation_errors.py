"""Errors of pydantic in our own words: what was wanted, and what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_SHOWN = 100
"""Largest number of characters of a name or a value in a message."""
BY_KIND = {
    "missing": "one",
    "extra_forbidden": "no field of this name",
    "json": "JSON",
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "an object",
    "model": "an object",
    "dataclass": "an object",
    "datetime": "a time such as 2026-05-17T09:30:00+03:00",
    "timezone": "a time with its time zone",
    "date": "a date such as 2026-05-17",
    "time": "a time such as 09:30",
    "url": "a URL",
}
"""Wanted values by kinds of pydantic's errors or their first words: `int_parsing` is `int`."""
BY_LIMIT = {
    "expected": "{}",
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "multiple_of": "a multiple of {}",
    "pattern": "a text of the form {}",
}
"""Wanted values by the limit that an error names."""
BY_LENGTH = {"min_length": "at least {}", "max_length": "at most {}"}
OTHERS = "another value"


def describe_invalid(errors: Sequence[Mapping[str, Any]], *, hides_values: bool = False) -> str:
    """Return the first error of a validation as one line.

    Args:
        errors: What `errors()` of pydantic's ValidationError returns.
        hides_values: The value is not shown: it may be a password.
    """
    first = errors[0]
    where = ".".join(map(str, first["loc"]))[:MAX_SHOWN]
    message = f"{where}: wanted {_expectation(first)}" if where else f"wanted {_expectation(first)}"
    if first["type"] == "missing":
        return f"{message}, got none"
    return message if hides_values else f"{message}, got {repr(first.get('input'))[:MAX_SHOWN]}"


def _expectation(error: Mapping[str, Any]) -> str:
    kind, limits = error["type"], error.get("ctx", {})
    ours = str(limits.get("error", ""))
    if ours.startswith("wanted "):  # of a validator of ours
        return ours.removeprefix("wanted ")
    unit = "characters" if kind.startswith("string") else "items"
    for name, words in BY_LENGTH.items():
        if name in limits:
            return f"{words.format(limits[name])} {unit}"
    for name, words in BY_LIMIT.items():
        if name in limits:
            return words.format(limits[name])
    return BY_KIND.get(kind) or BY_KIND.get(kind.partition("_")[0], OTHERS)
