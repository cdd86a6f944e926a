"""Connections to a file of SQLite, which other programs may move, replace or delete.

SQLite itself goes on with a file that has no name any more. All that is written to it would be lost
in the end, and gates would open by the lists of a file that nobody sees.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from rapidfuzz.distance import Levenshtein
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError

PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "cache_size = -65536",
)
"""Each commit survives a power cut; deleted rows are overwritten; 64 MiB of pages are cached."""
FILE_ID = "file id"
"""Key of the file that a connection has opened."""


@dataclass
class DatabaseFile:
    """The file of an engine, as its connections find it.

    Attributes:
        was_there: True once a connection has found or made it. It is not made again after that.
    """

    path: str
    was_there: bool = False

    def check(self, *_: Any) -> None:
        """Keep a connection from making an empty file in place of one that was deleted.

        Raises:
            sqlite3.OperationalError: The file is not there any more.
        """
        if self.was_there and self._find() is None:
            raise sqlite3.OperationalError(f"the file {self.path} is gone. Put it back")

    def note(self, _: Any, record: Any) -> None:
        """Note the file that a new connection has opened."""
        record.info[FILE_ID] = self._find()
        self.was_there = record.info[FILE_ID] is not None

    def compare(self, _: Any, record: Any, __: Any) -> None:
        """Check that a connection still has the file of this name.

        Raises:
            sqlite3.OperationalError: There is none.
            DisconnectionError: There is another one, which a new connection opens.
        """
        self.check()
        if record.info[FILE_ID] != self._find():
            raise DisconnectionError(f"the file {self.path} was replaced")

    def _find(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)  # noqa: PTH116 - it is no path for SQLite's other addresses
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


def watch_connections(engine: sa.Engine) -> None:
    """Prepare each connection of an engine, and leave those whose file has gone."""
    file = DatabaseFile(os.path.abspath(engine.url.database or ""))  # noqa: PTH100 - as SQLite does
    event.listen(engine, "do_connect", file.check)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "connect", file.note)
    event.listen(engine, "checkout", file.compare)
    event.listen(engine, "begin", _begin)


def within_edits(text: str, other: str, edits: int) -> bool:
    """Tell whether a text is at most so many edits away from another one."""
    return Levenshtein.distance(text, other, score_cutoff=edits) <= edits


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # `_begin` begins the transactions
    connection.text_factory = _decode
    connection.create_function("within_edits", 3, within_edits, deterministic=True)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _decode(text: bytes) -> str:
    """Return a text of SQLite. A damaged one is like no other, and does not fail its query."""
    return text.decode(errors="replace")


def _begin(connection: sa.Connection) -> None:
    """Take the lock at the start of a transaction that writes, when waiting is still possible."""
    if statement := connection.get_execution_options().get("begin", "BEGIN"):
        connection.exec_driver_sql(statement)
