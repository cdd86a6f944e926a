"""The packages that an archive needs, in addition to those of the networks or the client."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from orchestrator.errors import ExtraError

BRINGS = "pip install -e '.[archive]'"


def load(name: str) -> Any:
    """Import a module of Ray or PyArrow, for example `pyarrow.fs`.

    Raises:
        ExtraError: Its package is missing, or does not fit the other packages.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ExtraError(
            f"archive: wanted the package {package}, got: {error}; {BRINGS} in the checkout "
            "brings it"
        ) from error


def check_packages() -> None:
    """Check that the packages for an archive are installed, before any work starts.

    This does not import Ray yet: Ray reads its settings at import.

    Raises:
        ExtraError: A package is missing.
    """
    load("pyarrow.fs")
    if find_spec("ray") is None:
        raise ExtraError(
            f"archive: wanted the package ray, got none; {BRINGS} in the checkout brings it"
        )
