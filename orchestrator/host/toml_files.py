"""TOML files as frozen dataclasses and back; rejects unknown or missing keys and wrong types."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from orchestrator.errors import PlateError, SettingsError
from orchestrator.host.text_lines import decode
from orchestrator.host.toml_lines import KeyPath, find_line, find_long_number

if sys.version_info >= (3, 11):
    import tomllib as tomllib
else:
    import tomli as tomllib

T = TypeVar("T")
MAX_BITS = 1024
"""Size of a whole number; larger ones fit no setting, and cannot all be printed."""
MAX_FILE_BYTES = 8 * 2**20
MAX_SHOWN = 100
"""Letters of a wrong value that a message shows."""

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
        with file.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{file}: wanted a TOML file, got {reason}") from error
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"{file}: wanted at most {MAX_FILE_BYTES} bytes, got more")
    try:
        text = decode(content).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        reason = f"what is no UTF-8 (at line {content[: error.start].count(10) + 1})"
        raise SettingsError(f"{file}: wanted a TOML file, got {reason}") from error
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML, endless numbers or lists
        line = find_long_number(text)
        reason = f"a number that is too long (at line {line})" if line else error
        raise SettingsError(f"{file}: wanted a TOML file, got: {reason}") from error
    try:
        return build(kind, table, file.absolute().parent)
    except WrongValue as error:
        raise SettingsError(f"{file}: {error}{_at_line(text, error.path)}") from error


class WrongValue(SettingsError):  # noqa: N818 - a part of the file
    """A value of a table is wrong.

    Attributes:
        path: Keys and indexes of lists that lead to it.
    """

    def __init__(self, message: str, path: KeyPath) -> None:
        super().__init__(message)
        self.path = path


def build(
    kind: type[T], table: object, folder: Path = Path(), name: str = "", path: KeyPath = ()
) -> T:
    """Build a dataclass from a table of a TOML or JSON file; see `read_table`.

    Args:
        kind: The dataclass.
        table: Values by field.
        folder: The folder to which its paths are relative.
        name: Name of the table in messages.
        path: Keys and indexes of lists that lead to the table.

    Raises:
        WrongValue: The table lacks these keys and types, or the dataclass rejects a value.
    """
    if not isinstance(table, dict):
        raise WrongValue(f"{name or 'content'}: wanted a table, got {show(table)}", path)
    where = f"[{name}] " if name else ""
    hints = get_type_hints(kind)
    unknown_keys = sorted(set(table) - set(hints))
    if unknown_keys:
        keys = ", ".join(hints)
        message = f"{where}wanted some of {keys}, got {show_name(unknown_keys[0])}"
        raise WrongValue(message, (*path, unknown_keys[0]))
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
        if field.name in table:
            step = _Step(folder, field.name, (*path, field.name), is_secret=not field.repr)
            values[field.name] = _value(hints[field.name], table[field.name], step)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise WrongValue(f"{where}wanted {field.name}, got none", path)
    try:
        return kind(**values)
    except WrongValue as error:
        raise WrongValue(str(error), (*path, *error.path)) from error
    except (SettingsError, ValueError, RecursionError) as error:  # a number too long to print
        raise WrongValue(str(error), _find_field(path, str(error), hints)) from error


@dataclass(frozen=True)
class _Step:
    """One value on the way through a table."""

    folder: Path
    key: str
    path: KeyPath
    is_secret: bool

    def inner(self, key: str | int) -> _Step:
        name = key if isinstance(key, str) else self.key
        return replace(self, key=name, path=(*self.path, key))

    def reject(self, expectation: str, value: object) -> WrongValue:
        got = f"a value of type {type(value).__name__}" if self.is_secret else show(value)
        return WrongValue(f"{show_name(self.key)}: wanted {expectation}, got {got}", self.path)


def _value(hint: Any, value: object, step: _Step) -> Any:
    """Check one value against the type of its field."""
    if isinstance(hint, UnionType):
        if value is None:  # null in JSON
            return None
        (hint,) = (member for member in get_args(hint) if member is not type(None))
    if get_origin(hint) is Mapping:
        if not isinstance(value, dict):
            raise step.reject("a table", value)
        return {
            name: _value(get_args(hint)[1], item, step.inner(name)) for name, item in value.items()
        }
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise step.reject("a list", value)
        inner = get_args(hint)[0]
        return tuple(_value(inner, item, step.inner(at)) for at, item in enumerate(value))
    if is_dataclass(hint):
        table_type: Any = hint
        return build(table_type, value, step.folder, step.key, step.path)
    return _plain(hint, value, step)


def _plain(hint: Any, value: object, step: _Step) -> Any:
    types = {Path: (str,), float: (int, float)}.get(hint, (hint,))
    if not isinstance(value, types) or (isinstance(value, bool) and hint is not bool):
        raise step.reject(_WANTED[hint], value)
    is_endless = isinstance(value, int) and value.bit_length() > MAX_BITS
    if is_endless or (hint is Path and "\0" in str(value)):
        raise step.reject(_WANTED[hint], value)
    if hint is Path:
        return step.folder / str(value)
    try:
        return hint(value)
    except OverflowError as error:
        message = f"{step.key}: wanted {_WANTED[hint]}, got one that is too large"
        raise WrongValue(message, step.path) from error


def show(value: object) -> str:
    """Return a value for a message: not too long, and without an address that has a password."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with very many digits, a very deep list
        return f"a value of type {type(value).__name__} that is too long"
    if "@" in text:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def show_name(name: str) -> str:
    """Return a name for a message; one that cannot be printed is quoted."""
    return name if name.isprintable() and len(name) <= MAX_SHOWN else show(name)


def _find_field(path: KeyPath, message: str, names: Collection[str]) -> KeyPath:
    """Return the path of the field that a message of a dataclass names, or that of its table."""
    key = next((part for part in message.split(": ") if part in names), None)
    return (*path, key) if key else path


def _at_line(content: str, path: KeyPath) -> str:
    line = find_line(content, path)
    return f" (at line {line})" if line else ""


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
    name: str, value: float, minimum: float, maximum: float, error: type[PlateError] = SettingsError
) -> None:
    """Reject a value outside [least, most].

    Raises:
        error: The value lies outside, or is no number.
    """
    if not minimum <= value <= maximum:
        raise error(f"{name}: wanted {minimum} to {maximum}, got {value}")
