"""Stamps of files: they tell that a file was rewritten or replaced."""

from __future__ import annotations

from pathlib import Path


def stamp_of(file: Path) -> tuple[int, ...]:
    """Return values that change when a file is rewritten, or nothing if there is no file."""
    try:
        stat = file.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
