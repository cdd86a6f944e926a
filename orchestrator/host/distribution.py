"""The installed distribution of the project: its name for pip, and its version.

The package for import is `orchestrator`. On the public package index, that name belongs to others.
"""

from __future__ import annotations

from importlib import metadata

NAME = "plates-orchestrator"


def read_version() -> str:
    """Return the version of the installed distribution; pyproject.toml sets it."""
    return metadata.version(NAME)
