"""Writes events to the database, or to the spool while the database is away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock

import sqlalchemy as sa

from orchestrator.host.retry import exponential_s
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.store.erasing import erasures
from plate_cameras.store.erasing.picture_removals import lock_pictures, read_round
from plate_cameras.store.errors import RejectedValue, StoreError, StoreUnavailable
from plate_cameras.store.tables import schema
from plate_cameras.store.tables.database import SEARCH_S, Database, upsert
from plate_cameras.store.tables.migrations import upgrade
from plate_cameras.store.tables.store_clock import AgeClock
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.pictures import PictureStore, put_all
from plate_cameras.store.writing.spool import Spool
from plate_cameras.store.writing.spool_files import SpooledFile

LOG = logging.getLogger(__name__)
BATCH = 100
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 5.0
REPLAY_S = 2.0
"""Longest time that new events wait for those of the spool; then they go into the spool, too."""


@dataclass
class BufferedWriter:
    """Writes events in order. Events of the spool go first.

    Attributes:
        clock: The store's clock, from which the age of passes counts.
    """

    database: Database
    pictures: PictureStore
    spool: Spool
    pass_writer: PassWriter
    clock: AgeClock
    monotonic: Callable[[], float] = steady_s
    last_error: str = ""
    _cameras: Sequence[Camera] = ()
    """Cameras that the database does not know yet."""
    _is_prepared: bool = False
    _is_unclear: bool = False
    """True if the last failure may be due to an event rather than to the database."""
    _failures: int = 0
    _retry_at: float = float("-inf")
    _prepare_at: float = float("-inf")
    _prepare_error: str = ""
    _lock: Lock = field(default_factory=Lock)
    """Held while events are written and replayed, so that they keep their order."""
    _preparing: Lock = field(default_factory=Lock)

    def prepare(self) -> None:
        """Make the tables and take over the cameras, if that is not done yet.

        For a moment after a failure, further calls fail at once.

        Raises:
            StoreError: The database cannot be used.
        """
        with self._preparing:
            if self.monotonic() < self._prepare_at:
                raise StoreUnavailable(self._prepare_error)
            try:
                self._prepare()
            except StoreError as error:
                self._prepare_at = self.monotonic() + FIRST_PAUSE_S
                self._prepare_error = str(error)
                raise

    def configure(self, cameras: Sequence[Camera]) -> None:
        """Take over the cameras' lists and retention, now or when the database is back."""
        self._cameras = cameras
        with self._lock:
            self._try(self.prepare)

    def write(self, events: Sequence[AddressedEvent]) -> None:
        """Write events to the database or, if that fails, to the spool.

        Raises:
            StoreUnavailable: Both are not possible.
        """
        with self._lock:
            if not self._replay() and self._try(lambda: self._write(events)):
                return
            self.spool.put(events)
            self._replay()  # at once, where only one of the events was to blame

    @property
    def is_database_up(self) -> bool:
        """True if the database answered the last time."""
        return not self._failures

    def check(self) -> None:
        """Check that the database answers, and prepare it, unless it failed a moment ago."""
        with self._lock:
            self._try(self._check)

    def replay(self) -> int:
        """Write events of the spool to the database. Return how many still wait."""
        with self._lock:
            return self._replay()

    def close(self) -> None:
        """Release the spool's folder."""
        self.spool.close()

    def _prepare(self) -> None:
        if not self._is_prepared:
            upgrade(self.database)
            self._is_prepared = True
        if cameras := self._cameras:
            _write_known_cameras(self.database, cameras)
            if self._cameras is cameras:
                self._cameras = ()

    def _check(self) -> None:
        self.prepare()
        self.database.check()

    def _replay(self) -> int:
        ends = self.monotonic() + REPLAY_S
        while len(self.spool) and self.monotonic() < ends:
            if not self._try(self._replay_batch):
                break
        return len(self.spool)

    def _try(self, step: Callable[[], None]) -> bool:
        """Run a step unless it failed a moment ago; return whether it succeeded."""
        if self.monotonic() < self._retry_at:
            return False
        try:
            step()
        except RejectedValue as error:  # the spool finds out which event it is
            self.last_error = str(error)
            return False
        except Exception as error:
            self._note_failure(error)
            return False
        if self._failures:
            LOG.info("passes can be kept again; %d events wait in the spool", len(self.spool))
        self._failures, self.last_error = 0, ""
        return True

    def _note_failure(self, error: Exception) -> None:
        is_known = isinstance(error, StoreError)
        if not self._failures or not is_known:
            trace = None if is_known else error
            LOG.error("passes wait in %s: %s", self.spool.folder, error, exc_info=trace)
        self.last_error = str(error) if is_known else f"{type(error).__name__}: {error}"
        self._is_unclear = not isinstance(error, StoreUnavailable)
        pause_s = exponential_s(self._failures, FIRST_PAUSE_S, MAX_PAUSE_S)
        self._retry_at = self.monotonic() + pause_s
        self._failures += 1

    def _write(self, events: Sequence[AddressedEvent]) -> None:
        self.prepare()
        kept_s = self.clock.now_s()
        with self.database.reading(SEARCH_S) as connection:  # without the lock of a writer
            self.pass_writer.lookup.refresh(connection)
            last_round = read_round(connection)  # else pictures without passes would be left
        pictures = self.pass_writer.pictures(events)
        put_all(self.pictures, pictures)
        with self.database.writing() as connection:
            if lock_pictures(connection) != last_round:  # some may have been removed since
                put_all(self.pictures, pictures)
            admitted_events = erasures.admit(connection, events)
            self.pass_writer.write(connection, admitted_events, kept_s)

    def _replay_batch(self) -> None:
        # After a failure, one event shows whether the database is back.
        is_trial = self._failures and not self._is_unclear
        files = self.spool.oldest(1 if is_trial else BATCH)
        try:
            self._write([file.event for file in files])
        except StoreUnavailable:
            raise
        except Exception:
            self._replay_each(files)
        else:
            self._discard(files)

    def _replay_each(self, files: Sequence[SpooledFile]) -> None:
        """Write events one by one; put aside those that the database does not take.

        An error that may be due to the database is due to the event if another one is accepted.
        """
        doubtful_files: list[tuple[SpooledFile, Exception]] = []
        is_usable = False
        for file in files:
            try:
                self._write([file.event])
            except RejectedValue as error:
                self.spool.reject(file.file, error)
            except StoreUnavailable:
                raise
            except Exception as error:
                doubtful_files.append((file, error))
            else:
                is_usable = True
                self._discard([file])
        if doubtful_files and not is_usable:
            raise doubtful_files[0][1]
        for file, reason in doubtful_files:
            self.spool.reject(file.file, f"{type(reason).__name__}: {reason}")

    def _discard(self, files: Sequence[SpooledFile]) -> None:
        self.spool.discard([file.file for file in files])
        self.spool.counts.replayed += len(files)


def _write_known_cameras(database: Database, cameras: Sequence[Camera]) -> None:
    """Write the cameras' lists and retention; a camera that the database rejects is left out."""
    try:
        with database.writing() as connection:
            _write_cameras(connection, cameras)
    except RejectedValue as error:
        if len(cameras) == 1:
            LOG.error("%r: its lists and retention are not used: %s", cameras[0].name, error)
            return
        for camera in cameras:
            _write_known_cameras(database, [camera])


def _write_cameras(connection: sa.Connection, cameras: Sequence[Camera]) -> None:
    rows = [
        {"name": camera.name, "lists": [*camera.lists], "retention_days": camera.retention_days}
        for camera in cameras
    ]
    upsert(connection, schema.cameras, rows, "name")
