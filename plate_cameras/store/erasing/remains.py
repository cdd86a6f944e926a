"""Erases what deleted rows leave in the files of the database.

SQLite overwrites deleted rows (`secure_delete`). Two copies are left: older pages in the
write-ahead log, and entries of the trigram index, which are only marked. In PostgreSQL, deleted
rows wait for VACUUM, and the planner's statistics hold frequent texts. VACUUM leaves the rows that
an older transaction of another session still sees, such as a backup's.

Not reached: the log of PostgreSQL (`pg_wal`), unused space within its pages, backups, and blocks of
the disk that no file has any more. docs/privacy.md says what to do about them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import METADATA

LOG = logging.getLogger(__name__)
MERGE_PAGES = 500
"""Pages of the trigram index that one transaction rewrites: other writers wait no longer."""
COUNT_READERS = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL"""
"""Other sessions with a snapshot. Those of other users are hidden without `pg_read_all_stats`."""
MERGE = "INSERT INTO pass_texts (pass_texts, rank) VALUES ('merge', {})"


def erase_remains(database: Database) -> bool:
    """Erase what deleted rows left. Return False if another transaction may still see such rows."""
    if database.is_postgresql:
        return _vacuum(database)
    erase_sqlite_remains(database)
    return True


def erase_sqlite_remains(database: Database) -> None:
    """Merge the trigram index, and empty the write-ahead log; nothing for PostgreSQL."""
    if database.is_postgresql:
        return
    _merge_index(database)
    if not database.empty_log():
        LOG.warning("the log of the database was in use; the next retention empties it")


def _merge_index(database: Database) -> None:
    """Rewrite the index step by step until no marked entries are left.

    Source: SQLite's documentation of FTS5, "The 'merge' Command": a negative number starts a merge
    of all segments, positive ones continue it; it is done when less than two rows have changed.
    """
    pages = -MERGE_PAGES
    while True:
        with database.writing() as connection:
            before = _count_changes(connection)
            connection.exec_driver_sql(MERGE.format(pages))
            if _count_changes(connection) - before < 2:
                return
        pages = MERGE_PAGES


def _count_changes(connection: Any) -> int:
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


def _vacuum(database: Database) -> bool:
    names = ", ".join((*sorted(METADATA.tables), "pass_texts"))
    with database.free() as connection:
        has_readers = bool(connection.exec_driver_sql(COUNT_READERS).scalar_one())
        connection.exec_driver_sql(f"VACUUM (ANALYZE) {names}")
        # The statistics before ANALYZE.
        connection.exec_driver_sql("VACUUM pg_catalog.pg_statistic")
    if has_readers:
        LOG.warning("another transaction was open; the next retention vacuums once more")
    return not has_readers


ROOM_BYTES = 4 * 2**20
"""Room on the disk that is reserved for deletions: the log's usual length before SQLite writes it
into the file."""
ENDING = "-room"


@contextmanager
def give_back_room(database: Database) -> Iterator[None]:
    """Give SQLite its reserved room inside a `with` block, and reserve it again afterwards."""
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
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, ROOM_BYTES)
    except OSError:
        file.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
