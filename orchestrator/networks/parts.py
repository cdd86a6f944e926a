"""Files that are being written, under names of their own until they are whole."""

from __future__ import annotations

import os
from pathlib import Path


def part_of(path: Path) -> Path:
    """Return the name of a file while this process writes it; another process has another."""
    return path.with_name(f"part.{os.getpid()}.{path.name}")
