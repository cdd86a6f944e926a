"""Closes passes that a watcher has reported, but did not live to close."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.plates import Plate
from plate_cameras.clocks import steady_s
from plate_cameras.passes import BestFrame, LineCrossing, Observation, Pass, PassEvent
from plate_cameras.store.finding.pass_query import PassDetails, StoredReading
from plate_cameras.store.finding.search import read_details
from plate_cameras.store.leases.camera_leases import read_clock
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import camera_leases, joined_passes, passes

SETTLED_S = 60.0
"""Time after a change of owner in which the former owner or the next one may still close a pass."""
MAX_CLOSED_AT_ONCE = 100
"""Most passes that are closed at once."""
IS_OPEN = passes.c.progress == sa.literal_column("'agreed'")
"""The condition of the partial index, in the form that it has."""


@dataclass(frozen=True)
class _Tenure:
    """The time for which a watcher has had a camera: `age_s` at a moment of the steady clock."""

    age_s: float
    moment_s: float


class UnclosedPasses:
    """Makes the closing events of such passes. No clock decides to whom a pass belongs."""

    def __init__(self, database: Database, clock: Callable[[], float] = steady_s) -> None:
        self._database, self._clock = database, clock
        self.run = ""
        self._tenures: dict[tuple[str, int], _Tenure] = {}

    def of_former_owners(self, watcher: str) -> list[PassEvent]:
        """Return the closing events of passes that former owners of a watcher's cameras have left.

        These are passes of earlier epochs. The next owner waits first, so that the former one can
        close them itself.
        """
        with self._database.reading() as connection:
            settled_cameras = self._settled(connection, watcher)
            lease, columns = camera_leases.c, passes.c
            is_continued = sa.exists().where(
                joined_passes.c.pass_number == columns.number, joined_passes.c.epoch >= lease.epoch
            )
            statement = (
                sa.select(columns.id)
                .join_from(camera_leases, passes, columns.camera == lease.camera)
                .where(lease.watcher == watcher, lease.camera.in_(settled_cameras), IS_OPEN)
                .where(sa.func.coalesce(columns.epoch, 0) < lease.epoch, ~is_continued)
            )
            return self._close_all(connection, statement)

    def interrupted(self, cameras: Collection[str], run: str | None = None) -> list[PassEvent]:
        """Return the closing events of passes that earlier runs have left, without leases.

        Args:
            cameras: Names of the cameras that this watcher follows alone.
            run: The run whose passes stay open; None for the run of this process.
        """
        columns, own_run = passes.c, self.run if run is None else run
        is_left = sa.func.coalesce(columns.run, "") != own_run
        statement = sa.select(columns.id).where(columns.camera.in_(cameras), IS_OPEN, is_left)
        with self._database.reading() as connection:
            return self._close_all(connection, statement)

    def _settled(self, connection: sa.Connection, watcher: str) -> list[str]:
        """Return the cameras that a watcher has had for a while.

        Only the time before the first call is told by the database; then the steady clock counts.
        """
        columns = (camera_leases.c.camera, camera_leases.c.epoch, camera_leases.c.taken_s)
        rows = connection.execute(sa.select(*columns).where(camera_leases.c.watcher == watcher))
        taken_times_s = {(row.camera, row.epoch): row.taken_s for row in rows}
        unix_s, now_s = read_clock(connection), self._clock()
        self._tenures = {
            key: self._tenures.get(key) or _Tenure(max(0.0, unix_s - taken_s), now_s)
            for key, taken_s in taken_times_s.items()
        }
        return [
            camera
            for (camera, _), tenure in self._tenures.items()
            if tenure.age_s + now_s - tenure.moment_s >= SETTLED_S
        ]

    def _close_all(self, connection: sa.Connection, statement: sa.Select[Any]) -> list[PassEvent]:
        page = statement.order_by(passes.c.number).limit(MAX_CLOSED_AT_ONCE)
        ids = connection.execute(page).scalars().all()
        details = (read_details(connection, pass_id, EVERYTHING) for pass_id in ids)
        return [_close(pass_details) for pass_details in details]


def _close(details: PassDetails) -> PassEvent:
    found_pass, kept_best = details.found_pass, details.found_pass.best
    box = StoredReading(kept_best["time_s"], "", 0.0, (), tuple(kept_best["box"]), 0.0, 0.0)
    observations = tuple(
        _to_observation(reading, found_pass.format) for reading in details.readings or (box,)
    )
    observation = min(observations, key=lambda look: abs(look.time_s - kept_best["time_s"]))
    width, height = kept_best["size_wh"]
    fields = {
        name: getattr(found_pass, name)
        for name in Pass.__dataclass_fields__
        if name not in ("progress", "crossings", "observations", "best", "last_moment_s")
    }
    best = BestFrame(
        observation,
        (int(width), int(height)),
        crop_jpeg=b"",  # no picture is read: one that cannot be would hold up all passes
        frame_jpeg=b"",
        part=kept_best.get("part") and tuple(kept_best["part"]),
        blur=kept_best.get("blur", ""),
        stored_crop=found_pass.crop,
        stored_frame=found_pass.frame,
    )
    crossings = tuple(LineCrossing(**crossing) for crossing in found_pass.crossings)
    closed_pass = Pass(
        **fields, progress="closed", crossings=crossings, observations=observations, best=best
    )
    return PassEvent("closed", closed_pass)


def _to_observation(reading: StoredReading, name: str) -> Observation:
    x0, y0, x1, y1 = reading.box
    plate = Plate(
        (x0, y0, x1, y1),
        text=reading.text,
        text_score=reading.score,
        candidates=reading.candidates,
        format=name,
    )
    return Observation(reading.time_s, plate, reading.sharpness, reading.weight, reading.source)
