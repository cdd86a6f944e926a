"""Writes events to the database, or to the spool while the database is away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock

import sqlalchemy as sa

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.store.addressed_events import AddressedEvent
from orchestrator.cameras.store.database import Database, insert
from orchestrator.cameras.store.errors import RejectedValue, StoreError
from orchestrator.cameras.store.migrations import upgrade
from orchestrator.cameras.store.pass_writer import PassWriter
from orchestrator.cameras.store.pictures import PictureStore, put_all
from orchestrator.cameras.store.schema import cameras
from orchestrator.cameras.store.spool import Spool, SpooledFile
from orchestrator.system.backoff import exponential_s

LOG = logging.getLogger(__name__)
BATCH = 100
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
REPLAY_S = 2.0
"""Longest time that new events wait for those of the spool; then they go into the spool, too."""


@dataclass
class BufferedWriter:
    """Writes events in order. Events of the spool go first.

    Attributes:
        database: The database.
        pictures: The pictures, which are kept before their passes.
        spool: The spool.
        rows: Writes the rows.
        monotonic: A clock that no one sets.
    """

    database: Database
    pictures: PictureStore
    spool: Spool
    rows: PassWriter
    monotonic: Callable[[], float] = time.monotonic
    last_error: str = ""
    _cameras: Sequence[Camera] = ()
    """Cameras that the database does not know yet."""
    _is_prepared: bool = False
    _failures: int = 0
    _retry_at: float = float("-inf")
    _lock: RLock = field(default_factory=RLock)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep this process from writing passes meanwhile."""
        with self._lock:
            yield

    def prepare(self) -> None:
        """Make the tables and take over the cameras, if that is not done yet.

        Raises:
            StoreUnavailable: The database cannot be used.
        """
        with self._lock:
            if not self._is_prepared:
                upgrade(self.database)
                self._is_prepared = True
            if self._cameras:
                with self.database.writing() as connection:
                    _keep_cameras(connection, self._cameras)
                self._cameras = ()

    def configure(self, configured: Sequence[Camera]) -> None:
        """Take over the cameras' lists and retention, now or when the database is back."""
        with self._lock:
            self._cameras = configured
            self._try(self.prepare)

    def write(self, events: Sequence[AddressedEvent]) -> None:
        """Write events to the database or, if that fails, to the spool.

        Raises:
            StoreUnavailable: Both are not possible.
        """
        with self._lock:
            if not self.replay() and self._try(lambda: self._write(events)):
                return
            self.spool.put(events)
            self.replay()  # at once, where only one of the events was to blame

    @property
    def is_database_up(self) -> bool:
        """True if the database answered the last time."""
        return not self._failures

    def check(self) -> None:
        """Ask the database for a sign, unless it failed a moment ago."""
        with self._lock:
            self._try(self.database.check)

    def replay(self) -> int:
        """Write events of the spool to the database. Return how many still wait."""
        with self._lock:
            ends = self.monotonic() + REPLAY_S
            while len(self.spool) and self.monotonic() < ends:
                if not self._try(self._replay_batch):
                    break
            return len(self.spool)

    def close(self) -> None:
        """Release the spool's folder."""
        self.spool.close()

    def _try(self, step: Callable[[], None]) -> bool:
        """Run a step unless it failed a moment ago; return whether it succeeded."""
        if self.monotonic() < self._retry_at:
            return False
        try:
            step()
        except RejectedValue as error:  # the spool finds out which event it is
            self.last_error = str(error)
            return False
        except StoreError as error:
            self._note_failure(error)
            return False
        if self._failures:
            LOG.info("passes can be kept again; %d events wait in the spool", len(self.spool))
        self._failures, self.last_error = 0, ""
        return True

    def _note_failure(self, error: StoreError) -> None:
        if not self._failures:
            LOG.error("passes wait in %s: %s", self.spool.folder, error)
        self.last_error = str(error)
        pause_s = exponential_s(self._failures, FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._retry_at = self.monotonic() + pause_s
        self._failures += 1

    def _write(self, events: Sequence[AddressedEvent]) -> None:
        self.prepare()
        self.database.check()  # else pictures without passes would be left
        put_all(self.pictures, self.rows.pictures(events))
        with self.database.writing() as connection:
            self.rows.write(connection, events)

    def _replay_batch(self) -> None:
        # After a failure, one event shows whether the database is back.
        files = self.spool.oldest(1 if self._failures else BATCH)
        try:
            self._write([one.event for one in files])
        except RejectedValue:
            self._replay_each(files)
            return
        self._discard(files)

    def _replay_each(self, files: Sequence[SpooledFile]) -> None:
        for one in files:
            try:
                self._write([one.event])
            except RejectedValue as error:
                self.spool.reject(one.file, error)
            else:
                self._discard([one])

    def _discard(self, files: Sequence[SpooledFile]) -> None:
        self.spool.discard([one.file for one in files])
        self.spool.counts.replayed += len(files)


def _keep_cameras(connection: sa.Connection, configured: Sequence[Camera]) -> None:
    statement = insert(connection, cameras)
    values = {name: statement.excluded[name] for name in ("lists", "retention_days")}
    upsert = statement.on_conflict_do_update(index_elements=[cameras.c.name], set_=values)
    rows = [
        {"name": one.name, "lists": [*one.lists], "retention_days": one.retention_days}
        for one in configured
    ]
    connection.execute(upsert, rows)
