"""What a client alone does not need, and what is said where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import ExtraError

SERVER = frozenset({"torch", "openvino", "pytriton", "nvidia-pytriton", "matplotlib", "PIL"})
"""Packages that serving, measuring and training need, as they are imported or installed."""


@contextmanager
def needs_told() -> Iterator[None]:
    """Say how to get it where a package is missing that a client alone does not need.

    Raises:
        ExtraError: A package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in SERVER:
            raise
        raise ExtraError(
            f"wanted the package {package}, got an installation for clients alone; "
            'pip install "orchestrator[server]" brings what is missing'
        ) from error
