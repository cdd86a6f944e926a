"""Opens the store of a configuration."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from orchestrator.cameras.configuration import Store
from orchestrator.cameras.store.buffered_writer import BufferedWriter
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.store.kept_frames import KeptFrames
from orchestrator.cameras.store.pass_store import PassStore, StoreParts
from orchestrator.cameras.store.pass_writer import PassWriter
from orchestrator.cameras.store.pictures import open_pictures
from orchestrator.cameras.store.spool import MOST_BYTES, Spool, open_own_spool

LOG = logging.getLogger(__name__)


def open_store(
    settings: Store,
    folder: Path,
    *,
    spool_bytes: int = MOST_BYTES,
    clock: Callable[[], float] = time.time,
    is_shared: bool = False,
) -> PassStore:
    """Open a store, and bring its tables to their newest state.

    When the database is away, passes wait in the spool, and the tables are made later.

    Args:
        settings: The part `store` of the configuration.
        folder: The folder of the configuration, for what the settings leave out.
        spool_bytes: Largest size of the spool.
        clock: Returns the Unix time.
        is_shared: True if other processes of this machine write with the same settings. Each of
            them gets a spool of its own.

    Raises:
        SettingsError: An address is wrong.
        StoreError: The spool's folder cannot be used.
    """
    database = Database(settings.url or _default_url(folder))
    pictures = open_pictures(settings.pictures or str(folder / "pictures"))
    open_spool = open_own_spool if is_shared else Spool
    spool = open_spool(settings.spool or folder / "spool", spool_bytes)
    writer = BufferedWriter(database, pictures, spool, PassWriter(clock=clock))
    try:
        writer.prepare()
    except StoreUnavailable as error:
        LOG.error("passes wait in %s: %s", spool.folder, error)
    frames = KeptFrames(settings.keep_frames, settings.blur)
    parts = StoreParts(database, pictures, writer, frames, clock, settings.audit_days)
    return PassStore(parts, settings.retention_days)


def _default_url(folder: Path) -> str:
    """Return the address of a SQLite file that only this user may read."""
    file = folder.absolute() / "passes.db"
    try:
        file.touch(mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"{file}: {error.strerror}") from error
    return sa.URL.create("sqlite", database=str(file)).render_as_string()
