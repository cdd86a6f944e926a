"""Secrets of CAMERAS.toml: where they stand, and whether others can read them."""

from __future__ import annotations

import logging
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Configuration, Gate, Sink

LOG = logging.getLogger(__name__)
LOGIN = re.compile(r"://[^@\s]*:[^@\s]*@|(password|passwd|pwd|token|secret)=", re.IGNORECASE)
"""Pattern of an address with a password: before the host, or in the path or query."""
SECRET_NAME = re.compile("password|token|secret|authorization|key", re.IGNORECASE)
FROM_ENVIRONMENT, FROM_FILE = ELSEWHERE = ("env:", "file:")
"""Beginnings of values that name the place of a secret."""
MAX_SECRET_FILE_BYTES = 4096


def warn_of_readers(file: Path, configuration: Configuration) -> None:
    """Warn if a file has passwords, and all users of the machine may read it."""
    if file.stat().st_mode & stat.S_IROTH and any(_secrets_of(configuration)):
        LOG.warning(
            "%s: it has passwords, and every user of this machine may read it: chmod o-r %s",
            file,
            file,
        )


def _secrets_of(configuration: Configuration) -> Iterator[str]:
    """Return the addresses and options that hold a password."""
    users: tuple[Sink | Gate, ...] = (*configuration.sinks, *configuration.gates)
    urls = [camera.url for camera in configuration.cameras] + [user.url for user in users]
    urls.append(configuration.store.url or "")
    yield from filter(LOGIN.search, urls)
    messages = [sink.url for sink in configuration.sinks if sink.type == "notify"]
    options = [item for user in users for item in user.options.items()]
    secrets = [value for name, value in options if SECRET_NAME.search(name)]
    secrets += [secret for sink in configuration.sinks for secret in sink.secrets]
    secrets += [configuration.metrics_key, *messages]
    yield from (secret for secret in secrets if not secret.startswith(ELSEWHERE))


def resolve_secret(name: str, value: str, environ: Mapping[str, str]) -> str:
    """Return a secret; `env:NAME` takes an environment variable, `file:/PATH` a file's content.

    Raises:
        SettingsError: There is no such variable or file. The message does not contain any secret.
    """
    if value.startswith(FROM_FILE):
        return _read_secret_file(name, Path(value.removeprefix(FROM_FILE)))
    if not value.startswith(FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(FROM_ENVIRONMENT)
    if not environ.get(variable):
        raise SettingsError(f"{name}: wanted the environment variable {variable}, it is not set")
    return environ[variable]


def read_secret_files(part: Sink | Gate) -> tuple[str, ...]:
    """Return the contents of a part's files with secrets; of one that cannot be read, no text."""
    secrets = part.secrets if isinstance(part, Sink) else ()
    contents = []
    for value in (part.url, *secrets, *part.options.values()):
        if value.startswith(FROM_FILE):
            try:
                contents.append(resolve_secret(part.name, value, {}))
            except SettingsError:  # the part itself tells it, if it needs the file
                contents.append("")
    return tuple(contents)


def _read_secret_file(name: str, path: Path) -> str:
    message = f"{name}: wanted a file with one line, by its whole path"
    if not path.is_absolute():
        raise SettingsError(f"{message}, got the relative {path}")
    try:
        with path.open("rb") as file:
            secret = file.read(MAX_SECRET_FILE_BYTES + 1).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8"
        raise SettingsError(f"{message}, got {path}: {reason}") from error
    if not secret.isprintable() or not 0 < len(secret) <= MAX_SECRET_FILE_BYTES:
        raise SettingsError(f"{message}, got {path} with another content")
    return secret


def describe_without_address(error: Exception) -> str:
    """Return the reason of an error of aiohttp without the address, which may hold a secret."""
    inner = getattr(error, "os_error", None) or error.__cause__ or error
    return getattr(inner, "strerror", None) or type(inner).__name__
