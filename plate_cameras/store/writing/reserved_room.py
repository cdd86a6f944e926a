"""Room on the disk of SQLite's file that is kept for deletions.

A deletion makes SQLite's log longer before it makes anything shorter, so on a full disk nothing
could be deleted any more. A file of zeros beside the database holds room for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plate_cameras.store.tables.database import Database

ROOM_BYTES = 4 * 2**20
"""The log's usual length before SQLite writes it into the file."""
ENDING = "-room"


@contextmanager
def given_back_room(database: Database) -> Iterator[None]:
    """Give the room back inside a `with` block; nothing for PostgreSQL."""
    name = None if database.is_postgresql else database.engine.url.database
    if not name:
        yield
        return
    file = Path(f"{name}{ENDING}")
    with suppress(OSError):
        file.unlink(missing_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # the disk is full; the next deletion tries again
            _reserve(file)


def _reserve(file: Path) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(opened, 0, ROOM_BYTES)
    except OSError:
        file.unlink(missing_ok=True)
        raise
    finally:
        os.close(opened)
