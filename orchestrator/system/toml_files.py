"""TOML files as frozen dataclasses and back; rejects unknown or missing keys and wrong types."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from orchestrator.errors import PlateError, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

_WANTED = {int: "a whole number", float: "a number", str: "a text in quotes", Path: "a path",
           bool: "true or false"}  # fmt: skip


def read_table(kind: type[T], file: Path) -> T:
    """Read a TOML file into a dataclass whose fields are its keys.

    Fields may be numbers, texts, booleans or paths, which the file gives relative to its folder.
    Fields may also be other dataclasses, or mappings from texts, which are tables in the file.
    Tuples of all these are allowed, and so is None.

    Raises:
        SettingsError: The file cannot be read, lacks these keys and types, or the dataclass rejects
            a value.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: wanted a TOML file, got {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # no TOML or UTF-8, endless numbers or lists
        raise SettingsError(f"{file}: wanted a TOML file, got: {error}") from error
    try:
        return build(kind, table, file.absolute().parent)
    except (SettingsError, ValueError) as error:  # ValueError: a number too long to print
        raise SettingsError(f"{file}: {error}") from error


def build(kind: type[T], table: object, folder: Path = Path(), name: str = "") -> T:
    """Build a dataclass from a table of a TOML or JSON file; see `read_table`.

    Args:
        kind: The dataclass.
        table: Values by field.
        folder: The folder to which its paths are relative.
        name: Name of the table in messages.

    Raises:
        SettingsError: The table lacks these keys and types, or the dataclass rejects a value.
    """
    if not isinstance(table, dict):
        raise SettingsError(f"{name or 'content'}: wanted a table, got {table!r}")
    where = f"[{name}] " if name else ""
    hints = get_type_hints(kind)
    unknown = sorted(set(table) - set(hints))
    if unknown:
        raise SettingsError(f"{where}wanted some of {', '.join(hints)}, got {unknown[0]}")
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in table:
            raise SettingsError(f"{where}wanted {field.name}, got none")
    return kind(**{key: _value(hints[key], value, folder, key) for key, value in table.items()})


def _value(hint: Any, value: object, folder: Path, key: str) -> Any:
    """Check one value against the type of its field."""
    if isinstance(hint, UnionType):
        if value is None:  # null in JSON
            return None
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is Mapping:
        if not isinstance(value, dict):
            raise SettingsError(f"{key}: wanted a table, got {value!r}")
        return {name: _value(get_args(hint)[1], one, folder, name) for name, one in value.items()}
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise SettingsError(f"{key}: wanted a list, got {value!r}")
        return tuple(_value(get_args(hint)[0], one, folder, key) for one in value)
    if is_dataclass(hint):
        return build(hint, value, folder, key)  # type: ignore[arg-type]  # a class, no instance
    accepted = {Path: (str,), float: (int, float)}.get(hint, (hint,))
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint is not bool):
        raise SettingsError(f"{key}: wanted {_WANTED[hint]}, got {value!r}")
    try:
        return folder / str(value) if hint is Path else hint(value)
    except OverflowError as error:
        raise SettingsError(f"{key}: wanted {_WANTED[hint]}, got one that is too large") from error


def to_toml(instance: Any) -> str:
    """Write a dataclass as TOML that `read_table` can read; fields that are None are left out."""
    values = {field.name: getattr(instance, field.name) for field in fields(instance)}
    plain = {key: value for key, value in values.items() if not is_dataclass(value)}
    lines = list(_lines(plain))
    for key, value in values.items():
        if is_dataclass(value):
            lines += ["", f"[{key}]", *to_toml(value).splitlines()]
    return "\n".join(lines) + "\n"


def _lines(values: dict[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if value is not None:
            yield f"{key} = {_literal(value)}"


def _literal(value: object) -> str:
    """Return a value in TOML's notation: as in JSON, except infinity, NaN and one character."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")


def check_range(
    name: str, value: float, least: float, most: float, error: type[PlateError] = SettingsError
) -> None:
    """Reject a value outside [least, most].

    Raises:
        error: The value lies outside, or is no number.
    """
    if not least <= value <= most:
        raise error(f"{name}: wanted {least} to {most}, got {value}")
