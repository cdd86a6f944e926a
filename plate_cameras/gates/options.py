"""Options of gates, the secrets in them, and the packages that types of relays need."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from orchestrator.errors import ExtraError, SettingsError
from orchestrator.host.toml_files import show, show_name
from plate_cameras.secret_settings import resolve_secret
from plate_cameras.setting_parts import Gate

FLAGS = {"yes": True, "no": False}


def check_options(gate: Gate, known: Sequence[str], *, prefix: str | None = None) -> None:
    """Reject options that a type of relay does not have.

    Raises:
        SettingsError: There is one that is neither known nor begins with the prefix.
    """
    for name in gate.options:
        if name not in known and not (prefix and name.startswith(prefix)):
            more = [f"{prefix}NAME"] if prefix else []
            wanted = ", ".join([*known, *more])
            where, got = f"gate {gate.name}: options", show_name(name)
            raise SettingsError(f"{where}: wanted some of {wanted}, got {got}")


def read_option(gate: Gate, name: str, environ: Mapping[str, str]) -> str:
    """Return an option; `env:NAME` takes the value of an environment variable.

    Raises:
        SettingsError: The variable is not set.
    """
    return resolve_secret(f"gate {gate.name}: {name}", gate.options.get(name, ""), environ)


def read_flag(gate: Gate, name: str, *, default: bool) -> bool:
    """Return an option that is `yes` or `no`.

    Raises:
        SettingsError: It is something else.
    """
    value = gate.options.get(name)
    if value is None:
        return default
    if value not in FLAGS:
        raise SettingsError(f"gate {gate.name}: {name}: wanted yes or no, got {show(value)}")
    return FLAGS[value]


def read_number(gate: Gate, name: str, *, default: int, most: int) -> int:
    """Return an option that is a whole number from 0 on.

    Raises:
        SettingsError: It is something else.
    """
    value = gate.options.get(name, str(default))
    if not (value.isascii() and value.isdecimal()) or int(value) > most:
        raise SettingsError(f"gate {gate.name}: {name}: wanted 0 to {most}, got {show(value)}")
    return int(value)


def import_extra(gate: Gate, module: str) -> Any:
    """Import a module that the type of a gate needs.

    The loggers of the process stay as they are: `onvif` configures them when it is imported.

    Raises:
        ExtraError: It is not installed.
    """
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    try:
        return import_module(module)
    except ImportError as error:
        raise ExtraError(
            f"gate {gate.name}: type {gate.type} needs a package that `make cameras` installs"
        ) from error
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
