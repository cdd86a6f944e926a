"""Files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.errors import SettingsError

MODE = 0o600


def open_private(file: str | Path, flags: int) -> int:
    """Open a file, as an opener of `open`. A new one can be read by its owner alone."""
    return os.open(file, flags, MODE)


def check_writable(name: str, file: Path) -> None:
    """Check that a file can be written. It is made if there is none.

    Args:
        name: Name of its setting.
        file: The file.

    Raises:
        SettingsError: It cannot be written.
    """
    try:
        os.close(open_private(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    except OSError as error:
        raise SettingsError(f"{name}: {file} cannot be written: {error.strerror}") from error
