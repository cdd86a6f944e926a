"""Names for files that are being written, until they are complete."""

from __future__ import annotations

import os
from pathlib import Path


def part_of(path: Path) -> Path:
    """Return the name of a file while this process writes it; other processes use other names."""
    return path.with_name(f"part.{os.getpid()}.{path.name}")
