"""The store of passes."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from plate_cameras.configuration import Camera, Sink
from plate_cameras.passes import PassEvent
from plate_cameras.store.erasing import plate_requests
from plate_cameras.store.erasing.deletions import Deletions
from plate_cameras.store.erasing.remains import give_back_room
from plate_cameras.store.erasing.retention import DeletionCounts
from plate_cameras.store.errors import StoreError, UnknownName
from plate_cameras.store.finding.change_log import ChangeLog
from plate_cameras.store.finding.export import export_passes
from plate_cameras.store.finding.inside import VehiclesInside
from plate_cameras.store.finding.pass_query import PassDetails, PassPage, PassQuery, Requester
from plate_cameras.store.finding.reader import StoreReader
from plate_cameras.store.finding.search import read_details, search
from plate_cameras.store.finding.text_patterns import clean_text
from plate_cameras.store.leases.camera_leases import CameraLeases
from plate_cameras.store.lists.list_lookup import ListLookup
from plate_cameras.store.lists.plate_lists import PlateLists
from plate_cameras.store.openings import gate_openings
from plate_cameras.store.openings.gate_commands import GateCommands
from plate_cameras.store.openings.opening_log import OpeningLog
from plate_cameras.store.people import audit
from plate_cameras.store.people.login_attempts import LoginAttempts
from plate_cameras.store.people.people import People
from plate_cameras.store.people.sessions import Sessions
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.store_parts import StorageStatus, StoreParts, measure_disks
from plate_cameras.store.tables.database import LONG_S, SEARCH_S
from plate_cameras.store.tables.store_clock import UnixClock
from plate_cameras.store.writing.addressed_events import address
from plate_cameras.store.writing.live_tables import LiveTables
from plate_cameras.store.writing.pictures import PictureFolder
from plate_cameras.store.writing.pushed_pictures import PushedPictures
from plate_cameras.store.writing.sql_outbox import SqlOutbox
from plate_cameras.store.writing.unclosed_passes import UnclosedPasses

LOG = logging.getLogger(__name__)


class PassStore:
    """Keeps passes and finds them. Its calls may block; several threads may use it.

    Args:
        parts: The parts of the store.

    Attributes:
        clock: The store's clock, which nobody sets.
        inside: Knows the vehicles that are inside of sites.
        live: States, stills and drawn areas of cameras.
        leases: The cameras that watchers share.
        unclosed_passes: Passes that a watcher did not live to close.
        openings: Keeps what gates did.
        commands: Carries people's commands to gates.
        pushed_pictures: Pictures that cameras have sent, until they are read.
    """

    def __init__(self, parts: StoreParts, retention_days: float) -> None:
        self._database = parts.database
        self._pictures = parts.pictures
        self._frames = parts.frames
        self._clock = parts.clock
        self.clock = parts.store_clock or UnixClock(parts.clock)
        self.writer = parts.writer
        self.lists = PlateLists(parts.database, parts.clock)
        self.outbox = SqlOutbox(parts.database, self.clock.now_s)
        self.changes = ChangeLog(parts.database)
        self.live = LiveTables(parts.database, parts.clock)
        self.reader = StoreReader(parts.database, parts.clock)
        self.inside = VehiclesInside(parts.database, parts.clock)
        self.people = People(parts.database, parts.clock)
        self.sessions = Sessions(parts.database, parts.clock, self.clock.now_s)
        self.login_attempts = LoginAttempts(parts.database, self.clock.now_s)
        spool = parts.writer.spool
        self.openings = OpeningLog(parts.database, spool.folder, self.clock.now_s, spool.root)
        self.commands = GateCommands(parts.database, parts.clock, self.clock.now_s)
        self._deletions = Deletions(parts, self.clock, self.openings, retention_days=retention_days)
        self.leases = CameraLeases(parts.database)
        self.pushed_pictures = PushedPictures(parts.database, parts.clock)
        self.unclosed_passes = UnclosedPasses(parts.database)
        self.begin_run()

    def begin_run(self) -> None:
        """Begin a run. Passes that are open from before belong to an earlier one."""
        self.unclosed_passes.run = os.urandom(8).hex()

    def configure(self, cameras: Sequence[Camera]) -> None:
        """Take over the cameras' lists and retention. Until then, passes hit no list."""
        self.writer.configure(cameras)

    def write(self, events: Sequence[PassEvent], sinks: Sequence[Sink]) -> None:
        """Keep events, and put them into the outbox for their sinks.

        While the database is away, they wait in the spool.

        Raises:
            StoreUnavailable: The spool is full, too; the caller tries again later.
        """
        prepared_events = [self._frames.prepare(event) for event in events]
        if prepared_events:
            self.writer.write(
                address(prepared_events, sinks, self._clock(), self.unclosed_passes.run)
            )

    def replay_spool(self) -> int:
        """Write the spool's events to the database. Return the number of those that still wait."""
        with suppress(StoreError):  # the database is away, and the writer logs it
            self.openings.replay()
        self.writer.check()
        return self.writer.replay()

    def search(self, query: PassQuery, requester: Requester) -> PassPage:
        """Return a page of passes, the newest first, and record the search in the audit.

        Raises:
            ParameterError: The text cannot be searched.
            UnknownName: There is no such list.
        """
        with self._database.reading(SEARCH_S) as connection:
            page = search(connection, query, requester.scope)
        self._record(requester, "search", query.to_dict(), len(page.passes))
        return page

    def get(self, pass_id: str, requester: Requester, *, neighbours: bool = False) -> PassDetails:
        """Return a pass with its readings and hits, and record it in the audit.

        Args:
            pass_id: Its id.
            requester: The person who asks.
            neighbours: True if other passes of the plate are wanted, too.

        Raises:
            UnknownName: There is none with this id, or the requester may not see its camera.
        """
        with self._database.reading() as connection:
            details = read_details(connection, pass_id, requester.scope, neighbours=neighbours)
        self._record(requester, "get", {"id": pass_id}, 1 + len(details.neighbours))
        return details

    def picture(self, digest: str) -> bytes:
        """Return the picture with a hash, as `FoundPass` has it.

        Raises:
            UnknownName: There is none.
        """
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise UnknownName(f"there is no picture {digest!r}")
        return self._pictures.get(bytes.fromhex(digest))

    def pictures_of(self, pass_id: str) -> list[bytes]:
        """Return the pictures that are kept of a pass: the plate, and the vehicle or the frame.

        It is for messages of sinks. What people look at is recorded in the audit, see `get`.

        Raises:
            StoreError: They cannot be read now.
        """
        try:
            with self._database.reading() as connection:
                found_pass = read_details(connection, pass_id, EVERYTHING).found_pass
            return [
                self.picture(digest) for digest in (found_pass.crop, found_pass.frame) if digest
            ]
        except UnknownName:  # retention or a request of the plate's owner has removed it
            return []

    def refresh(self, lookup: ListLookup) -> None:
        """Read the lists that have changed."""
        with self._database.reading(SEARCH_S) as connection:
            lookup.refresh(connection)

    def export_plate(self, text: str, target: Path, requester: Requester) -> int:
        """Write all passes and openings of one plate, and the pictures, for its owner."""
        plain_text, scope = clean_text(text), requester.scope
        with self._database.reading(LONG_S) as connection:
            count = plate_requests.count_passes_of(connection, plain_text, scope)
        self._record(requester, "export plate", {"text": plain_text}, count)
        with self._database.reading(LONG_S) as connection:
            openings = gate_openings.read_openings_of(connection, plain_text, scope)
            details = plate_requests.read_passes_of(connection, plain_text, scope)
            return export_passes(details, self._pictures, target, openings)

    def delete_plate(
        self, text: str, requester: Requester, *, entries: bool = False
    ) -> DeletionCounts:
        """Delete everything about one plate: passes with all of theirs, spool, records of gates.

        The text also goes from readings and candidates of other vehicles, from states of cameras,
        and from the audit, which keeps who searched when. Then nothing of it is left in the
        database's files, see `remains`; and what watchers still have of it is not stored any more,
        see `erasures`.

        Args:
            text: The plate's text.
            requester: The person who asks.
            entries: True if it is removed from the lists, too.

        Raises:
            StoreError: A part cannot be done now. The others are; a repetition does the rest.
        """
        plain_text = clean_text(text)
        with give_back_room(self._database):
            return self._deletions.delete_plate(
                plain_text,
                lambda count: self._record(requester, "delete plate", {}, count),
                entries=entries,
            )

    def delete_expired(self, now_s: float) -> DeletionCounts:
        """Delete what is older than it may be at a Unix time, and pictures that no pass shows.

        It must be old by the store's clock, too.

        Raises:
            StoreError: A part cannot be done now. The others are.
        """
        with give_back_room(self._database):
            return self._deletions.delete_expired(now_s)

    def storage(self) -> StorageStatus:
        """Return the state of the database, the spool and their disks."""
        folders = {"spool": self.writer.spool.folder}
        if isinstance(self._pictures, PictureFolder):
            folders["pictures"] = self._pictures.folder
        spool = self.writer.spool
        return StorageStatus(
            self.writer.is_database_up,
            spool.most_bytes,
            measure_disks(folders),
            clock_ahead_s=self.clock.ahead_s,
            rejected=spool.counts.rejected,
        )

    def close(self) -> None:
        """Close all connections."""
        self._database.close()
        self.writer.close()

    def record_test(self, sink: str, requester: Requester) -> None:
        """Record in the audit that somebody sends a test to a sink."""
        self._record(requester, "test sink", {"sink": sink}, 1)

    def _record(
        self, requester: Requester, kind: str, query: Mapping[str, Any], count: int
    ) -> None:
        with self._database.writing() as connection:
            audit.record(connection, requester, kind, query, count=count, now_s=self._clock())
