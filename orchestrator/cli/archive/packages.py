"""The packages that an archive needs beside those of the networks or the client."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from orchestrator.errors import ExtraError

NEEDED = ("ray.data", "pyarrow.fs")
BRINGS = "pip install -e '.[archive]'"


def load(name: str) -> Any:
    """Import a module of Ray or PyArrow: `pyarrow.fs`.

    Raises:
        ExtraError: Its package is not installed, or does not go with the others that are.
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
    """See that what an archive needs is there, before anything is begun.

    Raises:
        ExtraError: It is not.
    """
    for name in NEEDED:
        load(name)
