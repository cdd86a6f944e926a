"""The packages that an archive needs beside those of the networks or the client."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from orchestrator.errors import ExtraError

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

    Ray is not imported yet: when it is, it reads its settings.

    Raises:
        ExtraError: It is not.
    """
    load("pyarrow.fs")
    if find_spec("ray") is None:
        raise ExtraError(
            f"archive: wanted the package ray, got none; {BRINGS} in the checkout brings it"
        )
