"""Upper numbers of CAMERAS.toml: each list, each table and each text has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from orchestrator.errors import SettingsError

MAX_CAMERAS = 2000
MAX_GATES = 200
MAX_SINKS = 100
MAX_AREAS = 100
"""Largest number of zones, lines or masks of a camera."""
MAX_POINTS = 1000
"""Largest number of points of a zone or mask."""
MAX_ITEMS = 100
"""Largest number of items of each other list or table, for example the lists of a camera."""
MAX_CHARACTERS = 4096
"""Largest number of characters of a text."""
SIZE = "size"


def at_most(most: int) -> Mapping[str, Any]:
    """Return the metadata of a field that may have so many items, and not `MAX_ITEMS`."""
    return {SIZE: most}


def check_sizes(settings: Any) -> None:
    """Check the number of items and characters of each field of a dataclass.

    Raises:
        SettingsError: A field has too many.
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, (tuple, Mapping)):
            most = field.metadata.get(SIZE, MAX_ITEMS)
            if len(value) > most:
                raise SettingsError(f"{field.name}: wanted at most {most}, got {len(value)}")
        items = value if isinstance(value, tuple) else [value]
        if isinstance(value, Mapping):
            items = [*value, *value.values()]
        for item in items:
            if isinstance(item, (str, Path)) and len(str(item)) > MAX_CHARACTERS:
                wanted, got = f"at most {MAX_CHARACTERS} characters", len(str(item))
                raise SettingsError(f"{field.name}: wanted {wanted}, got {got}")
