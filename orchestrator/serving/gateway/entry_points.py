"""The entry points by which installed packages extend the gateway."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from orchestrator.errors import SettingsError

GROUP = "plates.extensions"
OPEN_CAMERAS, CHECK_CAMERAS = "cameras", "cameras.check"
"""Names of entry points: one opens the extension for a file of cameras, one checks such a file."""


def load_entry_point(name: str) -> Any:
    """Import what an entry point names.

    Raises:
        SettingsError: No installed package provides the entry point.
    """
    entry_points = [*metadata.entry_points(group=GROUP, name=name)]
    if not entry_points:
        raise SettingsError("cameras: wanted the package for cameras; `make cameras` installs it")
    return entry_points[0].load()
