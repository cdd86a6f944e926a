"""Writes openings of gates to the database, or to a file while the database is away."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import sqlalchemy as sa

from plate_cameras.background_tasks import make_note
from plate_cameras.clocks import unix_s
from plate_cameras.store.erasing import erasures
from plate_cameras.store.errors import RejectedValue, StoreError, StoreUnavailable
from plate_cameras.store.finding.pass_query import LIMIT
from plate_cameras.store.openings.gate_openings import (
    BEGUN,
    AgedOpening,
    GateOpening,
    OpeningPage,
    parse_line,
    read_page,
    read_recent,
    to_line,
    write_openings,
)
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database, lock
from plate_cameras.store.tables.schema import gate_openings
from plate_cameras.store.tables.store_clock import Age
from plate_cameras.store.writing.durable_files import write_atomically
from plate_cameras.store.writing.spool_files import delete_old, walk

LOG = logging.getLogger(__name__)
LINE_END = b"\n"
FILE = "gate-openings.jsonl"
REJECTED = "gate-openings.rejected.jsonl"
"""File of the lines that the database does not accept, or that cannot be read."""
ADVISORY_LOCK = 0x6F70656E
"""Number of the lock in PostgreSQL under which watchers begin openings, one after the other."""


class OpeningLog:
    """Keeps openings. Several processes may use one folder at once.

    Args:
        folder: Folder of the file in which openings wait for the database.
        store_clock: The store's clock; None if retention is to give times by it.
        root: Folder below which all watchers have such files; None for `folder`.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        store_clock: Callable[[], float] | None = None,
        root: Path | None = None,
    ) -> None:
        self._database, self._store_clock = database, store_clock
        self._root = root or folder
        self._file = folder / FILE
        self._rejected_file = folder / REJECTED
        self._note = make_note(f"openings of gates stay in {self._file}")

    def write(self, openings: Sequence[GateOpening]) -> None:
        """Keep openings, those of the file first.

        Raises:
            StoreUnavailable: The records can be stored neither in the database nor in the file.
        """
        try:
            self.replay()
            self._insert(openings)
        except StoreError as error:
            LOG.error("openings of gates wait in %s: %s", self._file, error)
            self._append(openings)

    def page(
        self, scope: Scope, limit: int = LIMIT, cursor: str = "", *, pass_id: str | None = None
    ) -> OpeningPage:
        """Return a page of what gates did, the newest first.

        Args:
            scope: The cameras.
            limit: Most openings to return.
            cursor: The place where the previous page ended.
            pass_id: Id of a pass; None for all passes.

        Raises:
            ParameterError: The limit or the cursor is wrong.
        """
        with self._database.reading() as connection:
            return read_page(connection, scope, limit=limit, cursor=cursor, pass_id=pass_id)

    def begin(
        self, opening: GateOpening, within_s: float, is_known: Callable[[str], bool]
    ) -> list[AgedOpening]:
        """Note that a relay is about to be asked. The outcome is written under the same id.

        So no other watcher asks it for the same vehicle, and none that is started when this one is
        killed.

        Args:
            opening: The opening.
            within_s: Greatest age of the openings that matter.
            is_known: Tells whether the gate knows an opening by its id.

        Returns:
            Openings of the gate that it does not know, with their ages. Then nothing is noted.

        Raises:
            StoreError: The database does not answer.
        """
        now_s = self._store_clock() if self._store_clock else unix_s()
        with self._database.writing() as connection:
            lock(connection, ADVISORY_LOCK)
            recent = read_recent(connection, now_s, within_s, is_kept=self._store_clock is not None)
            of_gate = [aged for aged in recent if aged[0].gate == opening.gate]
            if news := [aged for aged in of_gate if not is_known(aged[0].id)]:
                return news
            admitted = erasures.admit_openings(connection, [replace(opening, outcome=BEGUN)])
            write_openings(connection, admitted, now_s if self._store_clock else None)
        return []

    def withdraw(self, id_: str) -> None:
        """Forget an opening that has begun: the relay was not asked, or has certainly not switched.

        Raises:
            StoreError: The database does not answer.
        """
        begun = sa.and_(gate_openings.c.id == id_, gate_openings.c.outcome == BEGUN)
        with self._database.writing() as connection:
            connection.execute(sa.delete(gate_openings).where(begun))

    def recent(self, within_s: float) -> list[AgedOpening]:
        """Return what counts as an opening with its age in seconds, the oldest first.

        Ages are counted by the store's clock, which no step of a machine's clock changes.
        """
        with suppress(StoreError):  # those that wait in the file count as well
            self.replay()
        now_s = self._store_clock() if self._store_clock else unix_s()
        with self._database.reading() as connection:
            return read_recent(connection, now_s, within_s, is_kept=self._store_clock is not None)

    def replay(self) -> int:
        """Write the file's openings to the database. Return their number.

        A fault in it is logged, and holds up nothing that comes after it.

        Raises:
            StoreError: The database or the file cannot be used.
        """
        try:
            count = self._replay()
        except StoreError:
            raise
        except Exception as error:
            self._note(error)
            return 0
        self._note(None)
        return count

    def _replay(self) -> int:
        if not self._file.exists():
            return 0
        with _open_alone(self._file) as file:
            lines = file.read().splitlines(keepends=True)
        openings, rejected_lines = _parse(lines)
        rejected_lines += self._insert_all(openings)  # nobody waits for the file meanwhile
        if rejected_lines:
            self._put_aside(rejected_lines)
        handled_lines = {*lines}
        _keep_lines(self._file, lambda line: line not in handled_lines)
        return len(lines) - len(rejected_lines)

    def erase(self, text: str) -> int:
        """Delete what waits about a plate, on its owner's request. Return the number of lines.

        Raises:
            StoreUnavailable: A file cannot be used.
        """
        return sum(
            _keep_lines(file, lambda line: not _concerns(line, text)) for file in self._files()
        )

    def discard_rejected(self, age: Age) -> None:
        """Delete the old files of lines that the database does not accept.

        Raises:
            StoreUnavailable: One cannot be deleted.
        """
        delete_old(self._root, lambda file: file.name.startswith(REJECTED), age)

    def _files(self) -> list[Path]:
        try:
            return [file for file in walk(self._root) if file.name.startswith((FILE, REJECTED))]
        except OSError as error:
            raise StoreUnavailable(f"openings of gates cannot be read: {error}") from error

    def _insert_all(self, openings: Sequence[GateOpening]) -> list[bytes]:
        """Write openings; return the lines of those that the database does not accept."""
        try:
            self._insert(openings)
        except RejectedValue:
            return [line for opening in openings for line in self._try_alone(opening)]
        return []

    def _try_alone(self, opening: GateOpening) -> Iterator[bytes]:
        try:
            self._insert([opening])
        except RejectedValue:
            yield to_line(opening)

    def _insert(self, openings: Sequence[GateOpening]) -> None:
        if not openings:
            return
        kept_s = None
        with suppress(StoreError):  # retention gives them a time
            kept_s = self._store_clock() if self._store_clock else None
        with self._database.writing() as connection:
            write_openings(connection, erasures.admit_openings(connection, openings), kept_s)

    def _put_aside(self, lines: Sequence[bytes]) -> None:
        LOG.error("%d openings of gates are put aside in %s", len(lines), self._rejected_file)
        with _open_alone(self._rejected_file) as file:
            file.write(b"".join(lines))

    def _append(self, openings: Sequence[GateOpening]) -> None:
        with _open_alone(self._file) as file:
            size = file.seek(0, os.SEEK_END)
            is_torn = size and os.pread(file.fileno(), 1, size - 1) != LINE_END
            file.write(b"".join([LINE_END if is_torn else b"", *map(to_line, openings)]))


def _parse(lines: Sequence[bytes]) -> tuple[list[GateOpening], list[bytes]]:
    """Return the openings of lines, and the lines that have none."""
    openings, rejected_lines = [], []
    for line in lines:
        try:
            openings.append(parse_line(line))
        except RejectedValue:
            rejected_lines.append(line)
    return openings, rejected_lines


def _keep_lines(path: Path, is_kept: Callable[[bytes], bool]) -> int:
    """Keep some lines of a file. Return the number of the others.

    The file is replaced as a whole, so that a full disk loses no line.
    """
    if not path.exists():
        return 0
    with _open_alone(path) as file:
        lines = file.read().splitlines(keepends=True)
        kept_lines = [line for line in lines if is_kept(line)]
        if not kept_lines:
            file.truncate(0)
        elif len(kept_lines) < len(lines):
            write_atomically(path, b"".join(kept_lines))
    return len(lines) - len(kept_lines)


def _concerns(line: bytes, text: str) -> bool:
    try:
        return parse_line(line).concerns(text)
    except RejectedValue:  # a line that was cut off may hold the text all the same
        return text.encode() in line


@contextmanager
def _open_alone(path: Path) -> Iterator[BinaryIO]:
    """Open a file for one process at a time; others wait. All lines are on the disk after it."""
    try:
        with _lock(path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror or error}") from error


@contextmanager
def _lock(path: Path) -> Iterator[BinaryIO]:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                yield file
                return
        # Another process has replaced the file while this one waited.
