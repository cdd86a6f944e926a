"""The command `plates key`."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from orchestrator.cli.standard_streams import check_output
from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import sync
from orchestrator.host.toml_files import to_toml
from orchestrator.serving.gateway.policy.api_keys import (
    Key,
    check_name,
    hash_of,
    parse_keys,
    read_keys,
)

PREFIX = "plates_"
"""Prefix of each key, by which secret scanners find a key in a wrong place."""
KEY_BYTES = 32


def key(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    *,
    keys: Annotated[Path, typer.Option(help="File of the gateway's keys.")],
    priority: Annotated[str, typer.Option(help="gate, usual or archive.")] = "usual",
    calls: Annotated[int | None, typer.Option(help="Largest number of calls at once.")] = None,
    rate: Annotated[float | None, typer.Option(help="Largest number of calls a second.")] = None,
    expires: Annotated[
        str | None, typer.Option(help="Last day of the key, in UTC: 2027-01-31.")
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            help="In the control room: viewer, editor or administrator; sender for a camera."
        ),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Only cameras of this group; repeatable.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the key.")] = False,
) -> None:
    """Make an API key for the gateway, which keeps only its hash, or remove a key.

    NAME: the holder of the key.
    """
    with show_errors(verbose=False):
        if remove:
            remove_key(keys, name)
            typer.echo(f"[{name}] is no key any more", err=True)
            return
        text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
        groups = tuple(group) if group else None
        new_key = Key(hash_of(text), priority, calls, rate, expires, role=role, groups=groups)
        add_key(keys, name, new_key)
        _show(text, keys, name)


def _show(text: str, keys: Path, name: str) -> None:
    """Show a new key; remove it again if nobody can see it."""
    try:
        check_output()
        typer.echo(text)
    except OSError:
        remove_key(keys, name)
        raise
    typer.echo(f"{keys} has the hash of this key alone: it is shown this once", err=True)


def add_key(file: Path, name: str, new_key: Key) -> None:
    """Append a key to a file; a new file can be read only by its owner.

    Raises:
        SettingsError: The name is invalid or taken, or the file is wrong or cannot be written.
    """
    check_name(name)
    try:
        content = file.read_bytes() if file.exists() else b""
        if content and name in read_keys(file).by_name:
            raise SettingsError(f"{file}: wanted a name that no key has, got {name}")
        gap = b"" if not content else b"\n" if content.endswith(b"\n") else b"\n\n"
        _append(file, gap + f"[{name}]\n{to_toml(new_key)}".encode())
    except OSError as error:
        raise _not_written(file, error) from error


def _append(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, content)  # in one write: the gateway may be reading
    finally:
        os.close(descriptor)


def remove_key(file: Path, name: str) -> None:
    """Remove a key from a file; all else stays as it is.

    Raises:
        SettingsError: The key does not exist, its table cannot be separated from the others, or the
            file is wrong or cannot be written.
    """
    other_keys = dict(read_keys(file).by_name)
    if other_keys.pop(name, None) is None:
        raise SettingsError(
            f"{file}: wanted some of {', '.join(other_keys) or 'no keys'}, got {name}"
        )
    try:
        text = without_table(file.read_bytes().decode(), name)
        if dict(parse_keys(text).by_name) != other_keys:
            raise SettingsError(f"{file}: wanted a table under [{name}], got it written otherwise")
        _replace(file.resolve(), text.encode())
    except OSError as error:
        raise _not_written(file, error) from error


def without_table(text: str, name: str) -> str:
    """Remove a table: its header, the empty lines before it, and all up to its last value."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf"\s*\[\s*[\"']?{re.escape(name)}[\"']?\s*\]")
    first = next((at for at, line in enumerate(lines) if header.match(line)), len(lines))
    last = first
    for at in range(first + 1, len(lines)):
        line = lines[at].strip()
        if line.startswith("["):
            break
        if line and not line.startswith("#"):  # comments behind the values are the next table's
            last = at
    while first and not lines[first - 1].strip():
        first -= 1
    return "".join(lines[:first] + lines[last + 1 :])


def _replace(file: Path, content: bytes) -> None:
    """Replace a file at once, with its old mode and, where permitted, its old owner."""
    old_stat = file.stat()
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            with suppress(PermissionError):
                os.fchown(out.fileno(), old_stat.st_uid, old_stat.st_gid)
            os.fchmod(out.fileno(), stat.S_IMODE(old_stat.st_mode))
        sync(temporary)  # a power cut would leave a file without keys
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _not_written(file: Path, error: OSError) -> SettingsError:
    return SettingsError(f"{file}: cannot be read and written: {error.strerror}")
