"""Writes openings of gates to the database, or to a file while the database is away."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import BinaryIO

from orchestrator.cameras.clocks import unix_s
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.errors import RejectedValue, StoreError, StoreUnavailable
from orchestrator.cameras.store.gate_openings import (
    GateOpening,
    OpeningPage,
    parse_line,
    read_page,
    read_since,
    to_line,
    write_openings,
)
from orchestrator.cameras.store.pass_query import LIMIT

LOG = logging.getLogger(__name__)
LINE_END = b"\n"
FILE = "gate-openings.jsonl"
REJECTED = "gate-openings.rejected.jsonl"
"""File of the lines that the database does not accept, or that cannot be read."""
CLOCKS_DIFFER_S = 10.0
"""Most by which the clock of another machine may be ahead of this one's."""


class OpeningLog:
    """Keeps openings. Several processes may use one folder at once.

    Args:
        database: The database.
        folder: Folder of the file in which openings wait for the database.
    """

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._file = folder / FILE
        self._rejected = folder / REJECTED

    def write(self, openings: Sequence[GateOpening]) -> None:
        """Keep openings, those of the file first.

        Raises:
            StoreUnavailable: Neither the database nor the file takes them now.
        """
        try:
            self.replay()
            self._insert(openings)
        except StoreError as error:
            LOG.error("openings of gates wait in %s: %s", self._file, error)
            self._append(openings)

    def page(
        self,
        limit: int = LIMIT,
        cursor: str = "",
        *,
        cameras: Collection[str] | None = None,
        pass_id: str | None = None,
    ) -> OpeningPage:
        """Return a page of what gates did, the newest first.

        Args:
            limit: Most openings to return.
            cursor: The place where the previous page ended.
            cameras: Names of cameras; None for all, and for the gates that people opened.
            pass_id: Id of a pass; None for all passes.

        Raises:
            ParameterError: The limit or the cursor is wrong.
            StoreError: The database cannot be used.
        """
        with self._database.reading() as connection:
            return read_page(
                connection, limit=limit, cursor=cursor, cameras=cameras, pass_id=pass_id
            )

    def since(self, since_s: float) -> tuple[GateOpening, ...]:
        """Return what counts as an opening since a Unix time, the oldest first."""
        with self._database.reading() as connection:
            return read_since(connection, since_s)

    def recent(self, within_s: float) -> list[tuple[GateOpening, float]]:
        """Return what counts as an opening with its age in seconds, the oldest first.

        The age of a time in the future is not known, so it is infinite: somebody has set a clock.

        Args:
            within_s: The greatest age.
        """
        with suppress(StoreError):  # those that wait in the file count as well
            self.replay()
        now_s = unix_s()
        ages = ((one, now_s - one.requested_s) for one in self.since(now_s - within_s))
        return [(one, max(age_s, 0) if age_s > -CLOCKS_DIFFER_S else inf) for one, age_s in ages]

    def replay(self) -> int:
        """Write the file's openings to the database. Return their number.

        Raises:
            StoreError: The database or the file cannot be used.
        """
        if not self._file.exists():
            return 0
        with _opened(self._file) as file:
            lines = file.read().splitlines(keepends=True)
            openings, rejected = _parse(lines)
            rejected += self._insert_all(openings)
            if rejected:
                self._put_aside(rejected)
            file.truncate(0)
        return len(lines) - len(rejected)

    def erase(self, text: str) -> int:
        """Delete what waits about a plate, on its owner's request. Return the number of lines."""
        return sum(_erase(path, text) for path in (self._file, self._rejected) if path.exists())

    def _insert_all(self, openings: Sequence[GateOpening]) -> list[bytes]:
        """Write openings; return the lines of those that the database does not accept."""
        try:
            self._insert(openings)
        except RejectedValue:
            return [line for one in openings for line in self._try_alone(one)]
        return []

    def _try_alone(self, opening: GateOpening) -> Iterator[bytes]:
        try:
            self._insert([opening])
        except RejectedValue:
            yield to_line(opening)

    def _insert(self, openings: Sequence[GateOpening]) -> None:
        if openings:
            with self._database.writing() as connection:
                write_openings(connection, openings)

    def _put_aside(self, lines: Sequence[bytes]) -> None:
        LOG.error("%d openings of gates are put aside in %s", len(lines), self._rejected)
        with _opened(self._rejected) as file:
            file.write(b"".join(lines))

    def _append(self, openings: Sequence[GateOpening]) -> None:
        with _opened(self._file) as file:
            size = file.seek(0, os.SEEK_END)
            is_torn = size and os.pread(file.fileno(), 1, size - 1) != LINE_END
            file.write(b"".join([LINE_END if is_torn else b"", *map(to_line, openings)]))


def _parse(lines: Sequence[bytes]) -> tuple[list[GateOpening], list[bytes]]:
    """Return the openings of lines, and the lines that have none."""
    openings, rejected = [], []
    for line in lines:
        try:
            openings.append(parse_line(line))
        except RejectedValue:
            rejected.append(line)
    return openings, rejected


def _erase(path: Path, text: str) -> int:
    with _opened(path) as file:
        lines = file.read().splitlines(keepends=True)
        kept = [line for line in lines if not _concerns(line, text)]
        if len(kept) < len(lines):
            file.truncate(0)
            file.write(b"".join(kept))
    return len(lines) - len(kept)


def _concerns(line: bytes, text: str) -> bool:
    try:
        return parse_line(line).concerns(text)
    except RejectedValue:  # a line that was cut off may hold the text all the same
        return text.encode() in line


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for one process at a time; others wait. All lines are on the disk after it.

    Raises:
        StoreUnavailable: The file cannot be used.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror or error}") from error
