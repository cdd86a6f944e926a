"""Finds passes that a watcher has told of, but did not live to close."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.passes import BestFrame, LineCrossing, Observation, Pass, PassEvent
from orchestrator.cameras.store.camera_leases import read_clock
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.errors import UnknownName
from orchestrator.cameras.store.pass_query import PassDetails, StoredReading
from orchestrator.cameras.store.pictures import PictureStore
from orchestrator.cameras.store.schema import camera_leases, passes
from orchestrator.cameras.store.search import read_details
from orchestrator.plates import Plate

SETTLED_S = 60.0
"""Time after a change of owner in which the former owner or the next one may still close a pass."""
SEARCHED_S = 600.0
"""Time after a change of owner in which its passes are looked for."""
LONGEST_PASS_S = 3 * 3600.0
"""Passes that began earlier than this before the change are not looked for."""
MOST = 100


class UnclosedPasses:
    """Finds the closing events of such passes.

    Args:
        database: The database.
        pictures: The pictures.
    """

    def __init__(self, database: Database, pictures: PictureStore) -> None:
        self._database, self._pictures = database, pictures

    def of_former_owners(self, watcher: str) -> list[PassEvent]:
        """Return those that former owners of a watcher's cameras have left."""
        with self._database.reading() as connection:
            now_s = read_clock(connection)
            lease, seen = camera_leases.c, passes.c
            found = (
                sa.select(seen.id)
                .join_from(camera_leases, passes, seen.camera == lease.camera)
                .where(lease.watcher == watcher)
                .where(lease.taken_s.between(now_s - SEARCHED_S, now_s - SETTLED_S))
                .where(seen.first_seen_s.between(lease.taken_s - LONGEST_PASS_S, lease.taken_s))
                .where(seen.last_seen_s < lease.taken_s, seen.progress == "agreed")
            )
            return self._close_all(connection, found)

    def interrupted(self, cameras: Collection[str], before_s: float) -> list[PassEvent]:
        """Return those that a watcher has left whose cameras nobody else follows.

        Args:
            cameras: Names of the cameras that the next watcher follows alone.
            before_s: Unix time at which it started; later passes are its own.
        """
        seen = passes.c
        found = sa.select(seen.id).where(
            seen.camera.in_(cameras), seen.progress == "agreed", seen.stored_s < before_s
        )
        with self._database.reading() as connection:
            return self._close_all(connection, found)

    def _close_all(self, connection: sa.Connection, found: sa.Select[Any]) -> list[PassEvent]:
        ids = connection.execute(found.limit(MOST)).scalars().all()
        return [_close(read_details(connection, one), self._pictures) for one in ids]


def _close(details: PassDetails, pictures: PictureStore) -> PassEvent:
    found = details.found
    looks = tuple(_to_observation(one, found.format) for one in details.readings)
    best = min(looks, key=lambda one: abs(one.time_s - found.best["time_s"]))
    size_wh = (int(found.best["size_wh"][0]), int(found.best["size_wh"][1]))
    same = {
        name: getattr(found, name)
        for name in Pass.__dataclass_fields__
        if name not in ("progress", "crossings", "observations", "best", "last_moment_s")
    }
    return PassEvent(
        "closed",
        Pass(
            **same,
            progress="closed",
            crossings=tuple(LineCrossing(**one) for one in found.crossings),
            observations=looks,
            best=BestFrame(
                best, size_wh, _read(pictures, found.crop), _read(pictures, found.frame)
            ),
        ),
    )


def _to_observation(reading: StoredReading, name: str) -> Observation:
    x0, y0, x1, y1 = reading.box
    plate = Plate(
        (x0, y0, x1, y1),
        text=reading.text,
        text_score=reading.score,
        candidates=reading.candidates,
        format=name,
    )
    return Observation(reading.time_s, plate, reading.sharpness, reading.weight)


def _read(pictures: PictureStore, digest: str | None) -> bytes:
    if digest is None:
        return b""
    try:
        return pictures.get(bytes.fromhex(digest))
    except UnknownName:
        return b""
