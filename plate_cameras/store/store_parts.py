"""The parts of which a store is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from plate_cameras.clocks import unix_s
from plate_cameras.configuration import AUDIT_DAYS
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.store_clock import KeptClock
from plate_cameras.store.writing.buffered_writer import BufferedWriter
from plate_cameras.store.writing.kept_frames import KeptFrames
from plate_cameras.store.writing.pictures import PictureStore


@dataclass(frozen=True)
class StoreParts:
    """The parts of a store.

    Attributes:
        writer: Writes events to both.
        frames: Decides what is kept of frames.
        clock: Returns the Unix time.
        kept: The store's clock; None to count all ages by `clock`.
        audit_days: Days after which the audit's records are deleted.
    """

    database: Database
    pictures: PictureStore
    writer: BufferedWriter
    frames: KeptFrames = field(default_factory=KeptFrames)
    clock: Callable[[], float] = unix_s
    kept: KeptClock | None = None
    audit_days: float = AUDIT_DAYS
