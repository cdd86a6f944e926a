"""Files on a disk: durable, private, or marked as incomplete; and stamps that tell of a change."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from orchestrator.errors import SettingsError

MODE = 0o600
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Errors of disks of other machines that do not know the call. They write by themselves."""


Stamp = tuple[int, ...]


def stamp_of(file: Path) -> Stamp:
    """Return values that change when a file is rewritten, or nothing if there is no file."""
    try:
        stat = file.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def open_private(file: str | Path, flags: int) -> int:
    """Open a file, as an opener of `open`. Only its owner can read a new file."""
    return os.open(file, flags, MODE)


def open_log(file: Path) -> int:
    """Open a file for lines at its end; it is made if there is none.

    Neither this nor a write waits for the reader of a named pipe.
    """
    flags = os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
    try:
        return open_private(file, os.O_WRONLY | flags)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return open_private(file, os.O_RDWR | flags)  # a pipe without a reader yet


def check_writable(name: str, file: Path) -> None:
    """Check that a file can be written. It is made if there is none.

    Args:
        name: Name of its setting.
        file: The file.

    Raises:
        SettingsError: It cannot be written.
    """
    try:
        os.close(open_log(file))
    except OSError as error:
        raise SettingsError(f"{name}: {file} cannot be written: {error.strerror}") from error


def sync(path: str | Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Raises:
        OSError: The disk does not take them.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def part_of(path: Path) -> Path:
    """Return the name of a file while this process writes it; other processes use other names."""
    return path.with_name(f"part.{os.getpid()}.{path.name}")
