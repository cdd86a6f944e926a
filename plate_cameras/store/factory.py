"""Opens the store of a configuration, with a spool that no other process has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path

import sqlalchemy as sa

from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Store
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.store_parts import KeptFrames, StoreParts
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.store_clock import AgeClock, StoreClock, UnixClock
from plate_cameras.store.writing.buffered_writer import BufferedWriter
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.pictures import open_pictures
from plate_cameras.store.writing.spool import OWN, Spool, SpoolInUse
from plate_cameras.store.writing.spool_files import ENDING

LOG = logging.getLogger(__name__)


def open_store(
    settings: Store,
    folder: Path,
    *,
    clock: Callable[[], float] | None = None,
    make_clock: Callable[[Database], AgeClock] | None = None,
    is_shared: bool = False,
) -> PassStore:
    """Open a store, and bring its tables to their newest state.

    When the database is away, passes wait in the spool, and the tables are made later.

    Args:
        settings: The part `store` of the configuration.
        folder: The folder of the configuration, for what the settings leave out.
        clock: Returns the Unix time; None for the system's. If it is given, all ages count by it.
        make_clock: Makes the store's clock; None for the usual one.
        is_shared: True if other processes of this machine write with the same settings. Each of
            them gets a spool of its own.

    Raises:
        SettingsError: An address is wrong.
    """
    database = Database(settings.url or _default_url(folder))
    pictures = open_pictures(settings.pictures or str(folder / "pictures"))
    open_spool = open_own_spool if is_shared else Spool
    spool = open_spool(settings.spool or folder / "spool")
    wall = clock or unix_s
    store_clock = _choose_clock(database, clock, make_clock)
    writer = BufferedWriter(database, pictures, spool, PassWriter(clock=wall), store_clock)
    try:
        writer.prepare()
    except StoreUnavailable as error:
        LOG.error("passes wait in %s: %s", spool.folder, error)
    frames = KeptFrames(settings.keep_frames, settings.blur, settings.keep_vehicles)
    parts = StoreParts(database, pictures, writer, frames, wall, store_clock, settings.audit_days)
    return PassStore(parts, settings.retention_days)


def _choose_clock(
    database: Database,
    clock: Callable[[], float] | None,
    make_clock: Callable[[Database], AgeClock] | None,
) -> AgeClock:
    if make_clock:
        return make_clock(database)
    return UnixClock(clock) if clock else StoreClock(database)


def _default_url(folder: Path) -> str:
    """Return the address of a SQLite file that only this user may read."""
    file = folder.absolute() / "passes.db"
    try:
        file.touch(mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"{file}: {error.strerror}") from error
    return sa.URL.create("sqlite", database=str(file)).render_as_string()


def open_own_spool(folder: Path) -> Spool:
    """Return a spool that no other process has: in a folder, or in one of those below it.

    One with events that a process has left comes first.

    Raises:
        StoreUnavailable: The folders cannot be used.
    """
    try:
        own_folders = sorted(folder.glob(f"{OWN}*"))
        left_folders = [path for path in own_folders if any(path.glob(f"*{ENDING}"))]
    except OSError as error:
        raise StoreUnavailable(f"the spool cannot be used: {error}") from error
    new_folders = (folder / f"{OWN}{number}" for number in count(2))
    for candidate in chain(left_folders, [folder], new_folders):
        spool = Spool(candidate)
        try:
            spool.acquire()
        except SpoolInUse:
            continue
        return spool
    raise AssertionError("there is always another number")
