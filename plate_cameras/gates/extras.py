"""Imports packages of the group `gates`, which only some types of relays need."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from orchestrator.errors import ExtraError
from plate_cameras.gate_settings import Gate


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
