"""The parts of which a store is made, and the state of its storage."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2

from plate_cameras.background_tasks import describe
from plate_cameras.blurring import blur_frame, cut_vehicle
from plate_cameras.clocks import unix_s
from plate_cameras.configuration import AUDIT_DAYS, NONE, SURROUNDINGS
from plate_cameras.frame_pixels import decode_frame
from plate_cameras.passes import BestFrame, PassEvent
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.store_clock import AgeClock
from plate_cameras.store.writing.buffered_writer import BufferedWriter
from plate_cameras.store.writing.pictures import PictureStore

LOG = logging.getLogger(__name__)
QUALITY = 92
"""JPEG quality of blurred frames, that of the camera's own."""


@dataclass(frozen=True)
class KeptFrames:
    """The settings of what is kept of frames.

    Attributes:
        is_whole: True if whole frames are kept.
        blur: The choice of what is made unrecognisable in them, see `blur_frame`.
        has_vehicle: True if a small picture of the vehicle is kept where no whole frame is.
    """

    is_whole: bool = False
    blur: str = SURROUNDINGS
    has_vehicle: bool = False

    def prepare(self, event: PassEvent) -> PassEvent:
        """Return an event whose frame may be written to pictures and spool."""
        best = event.vehicle_pass.best
        if best.blur:  # it comes from the store
            return event
        try:
            kept_frame = self._keep(event.vehicle_pass.id, best)
        except Exception as error:  # whatever it is, all other passes wait behind this one
            LOG.exception("%s: the frame is left out: %s", event.vehicle_pass.id, describe(error))
            kept_frame = replace(best, frame_jpeg=b"")
        return replace(event, vehicle_pass=replace(event.vehicle_pass, best=kept_frame))

    def _keep(self, pass_id: str, best: BestFrame) -> BestFrame:
        if not best.frame_jpeg or not (self.is_whole or self.has_vehicle):
            return replace(best, frame_jpeg=b"")
        if self.is_whole and self.blur == NONE:
            return replace(best, blur=NONE)
        pixels = decode_frame(best.frame_jpeg)
        if pixels is None:
            LOG.error("%s: the frame is left out: it cannot be decoded to be blurred", pass_id)
            return replace(best, frame_jpeg=b"")
        plate, part = best.observation.plate.xyxy, None
        if self.is_whole:
            kept_bgr = blur_frame(pixels, plate, best.others, self.blur)
        else:
            kept_bgr, part = cut_vehicle(pixels, plate, best.others, self.blur)
        jpeg = cv2.imencode(".jpg", kept_bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
        return replace(best, frame_jpeg=jpeg, part=part, blur=self.blur)


@dataclass(frozen=True)
class Disk:
    """A disk that a folder lies on.

    Attributes:
        free_bytes: Bytes that are left for this process.
        size_bytes: All bytes.
    """

    free_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class StorageStatus:
    """The state of the storage.

    Attributes:
        is_database_up: True if the database answered the last time.
        spool_limit_bytes: Largest size of the spool.
        disks: Disks by what lies on them: `spool`, and `pictures` unless they are in S3.
        clock_ahead_s: Seconds that the wall clock is ahead of the store's clock.
        rejected: Events that were put aside.
    """

    is_database_up: bool
    spool_limit_bytes: int
    disks: Mapping[str, Disk] = field(default_factory=dict)
    clock_ahead_s: float = 0.0
    rejected: int = 0


def measure_disks(folders: Mapping[str, Path]) -> dict[str, Disk]:
    """Return the disks of folders; one that cannot be asked now is left out."""
    disks = {}
    for name, folder in folders.items():
        try:
            place = next(path for path in (folder, *folder.parents) if path.exists())
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        disks[name] = Disk(usage.free, usage.total)
    return disks


@dataclass(frozen=True)
class StoreParts:
    """The parts of a store.

    Attributes:
        clock: Returns the Unix time.
        store_clock: The store's clock; None to count all ages by `clock`.
        audit_days: Days after which the audit's records are deleted.
    """

    database: Database
    pictures: PictureStore
    writer: BufferedWriter
    frames: KeptFrames = field(default_factory=KeptFrames)
    clock: Callable[[], float] = unix_s
    store_clock: AgeClock | None = None
    audit_days: float = AUDIT_DAYS
