"""Makes files and names durable: they outlive a power cut."""

from __future__ import annotations

import errno
import os
from pathlib import Path

CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Errors of disks of other machines that do not know the call. They write by themselves."""


def sync(path: str | Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Raises:
        OSError: The disk does not take them.
    """
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(opened)
