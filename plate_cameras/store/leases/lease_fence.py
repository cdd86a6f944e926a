"""Keeps events of former owners of a camera from being stored as passes of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from plate_cameras.passes import LeaseClaim, Pass
from plate_cameras.store.erasing.picture_removals import note_pictures
from plate_cameras.store.tables.schema import (
    camera_leases,
    joined_passes,
    passes,
    readings,
)
from plate_cameras.store.writing.addressed_events import AddressedEvent

SEAM_S = 30.0
"""Passes of the same text under two leases of a camera, so close to each other, are one vehicle. A
vehicle that stands may be missed for 20 s, and a change of owner takes up to 10."""
MAX_PASS_S = 3 * 3600.0
"""Time for a pass whose owner ended before it could close it. There are no events of a standing
vehicle, so the last time of its pass may be long ago."""
MIN_READ = 2
"""A text that so many frames show is a text of the pass, also if it is not the last one."""
LOCKS = 0x6A6F696E
"""First number of PostgreSQL's locks of cameras, under which their passes are joined."""
ALIAS = "alias"
_JOINED_EPOCH = (
    sa.select(sa.func.max(joined_passes.c.epoch))
    .where(joined_passes.c.pass_number == passes.c.number)
    .correlate(passes)
    .scalar_subquery()
)
STORED = (
    passes.c.id,
    passes.c.first_seen_s,
    passes.c.progress,
    passes.c.epoch,
    _JOINED_EPOCH.label("joined_epoch"),
)


@dataclass
class LeaseFence:
    """Compares the epoch of each event with that of its camera's lease.

    The owner's events are written. A former owner's events are written if the lease was certainly
    valid until the last frame that shows the pass: nobody else can have seen it. Other events are
    rejected: the new owner has seen those vehicles itself.

    A vehicle that two owners have seen, while the camera changed hands, becomes one pass. The
    database remembers its second id, so that all its events go to that pass. The later owner tells
    of it from then on; what the former one still says would be older.
    """

    rejected: int = 0

    def admit(
        self, connection: sa.Connection, events: Sequence[AddressedEvent]
    ) -> list[AddressedEvent]:
        """Return the events that may be written, each with the id under which its pass is stored.

        Args:
            connection: The transaction that writes them.
            events: Events, those of each camera under one lease.
        """
        claimed = [event for event in events if event.event.claim]
        if not claimed:
            return [*events]
        epochs = _read_epochs(connection, {one.event.vehicle_pass.camera for one in claimed})
        stored = _read_stored(connection, {one.event.vehicle_pass.id for one in claimed})
        admitted, unused = [], []
        for event in events:
            passed, claim = event.event.vehicle_pass, event.event.claim
            epoch = epochs.get(passed.camera)
            if epoch is None or claim is None:
                admitted.append(event)
            elif claim.epoch == epoch or claim.is_certain:
                if passed.id not in stored and (other := _join(connection, event, claim)):
                    stored[passed.id] = other
                    unused.append(event)  # the other pass may keep its own pictures
                known = stored.get(passed.id)
                if known is None or _latest_epoch(known) <= claim.epoch:
                    admitted.append(_under(known, event))
                else:
                    unused.append(event)
            else:
                unused.append(event)
                self.rejected += 1
        note_pictures(connection, (one.event.vehicle_pass for one in unused))
        return admitted


def _read_epochs(connection: sa.Connection, cameras: Iterable[str]) -> dict[str, int]:
    """Return the epochs of cameras' leases. In PostgreSQL, other writers of them wait.

    Two owners write at the same time while a camera changes hands. Neither would see the pass that
    the other has not committed yet.
    """
    names = sorted(cameras)
    if connection.dialect.name == "postgresql":
        lock = "SELECT pg_advisory_xact_lock(%s, hashtext(name)) FROM unnest(%s::text[]) AS name"
        connection.exec_driver_sql(lock, (LOCKS, names))
    columns = (camera_leases.c.camera, camera_leases.c.epoch)
    found = connection.execute(sa.select(*columns).where(camera_leases.c.camera.in_(names)))
    return {row.camera: row.epoch for row in found}


def _read_stored(connection: sa.Connection, ids: Iterable[str]) -> dict[str, Any]:
    """Return the passes that the database has under some ids, or whose second ids they are."""
    names, columns = sorted(ids), STORED
    own = sa.select(passes.c.id.label(ALIAS), *columns).where(passes.c.id.in_(names))
    second = sa.select(joined_passes.c.id.label(ALIAS), *columns).join_from(joined_passes, passes)
    both = sa.union_all(own, second.where(joined_passes.c.id.in_(names)))
    return {row.alias: row for row in connection.execute(both)}


def _join(connection: sa.Connection, addressed: AddressedEvent, claim: LeaseClaim) -> Any | None:
    """Return another owner's pass of the same vehicle, and note that it has this id, too."""
    if not addressed.event.vehicle_pass.text:
        return None
    other = connection.execute(_others(addressed, claim.epoch)).first()
    if other:
        row = {
            "id": addressed.event.vehicle_pass.id,
            "pass_number": other.number,
            "epoch": claim.epoch,
        }
        connection.execute(sa.insert(joined_passes).values(row))
    return other


def _latest_epoch(stored: Any) -> int:
    """Return the epoch of the last owner that has told of a pass."""
    return max(filter(None, (stored.epoch, stored.joined_epoch)), default=0)


def _others(addressed: AddressedEvent, epoch: int) -> sa.Select[Any]:
    """Return the statement that finds the nearest pass that could be the same vehicle's.

    All times are those of the camera's frames. A pass takes one second id from each lease.
    """
    columns, passed = passes.c, addressed.event.vehicle_pass
    taken = sa.exists().where(
        joined_passes.c.pass_number == columns.number, joined_passes.c.epoch == epoch
    )
    longest_s = sa.case((columns.progress == "closed", SEAM_S), else_=MAX_PASS_S)
    return (
        sa.select(columns.number, *STORED)
        .where(columns.camera == passed.camera, _has_text_of(passed))
        .where(columns.epoch != epoch, ~taken)
        .where(columns.last_seen_s + longest_s > passed.first_seen_s)
        .where(columns.first_seen_s < passed.last_seen_s + SEAM_S)
        .order_by(sa.func.abs(columns.first_seen_s - passed.first_seen_s), columns.number)
        .limit(1)
    )


def _has_text_of(passed: Pass) -> sa.ColumnElement[bool]:
    """Return the condition that the text of one pass was read in frames of the other."""
    counts = Counter(
        observation.plate.text for observation in passed.observations if observation.plate.text
    )
    texts = {passed.text, *(text for text, count in counts.items() if count >= MIN_READ)}
    read = sa.select(sa.func.count()).select_from(readings)
    read = read.where(readings.c.pass_number == passes.c.number, readings.c.text == passed.text)
    return sa.or_(passes.c.text.in_(sorted(texts)), read.scalar_subquery() >= MIN_READ)


def _under(stored: Any | None, addressed: AddressedEvent) -> AddressedEvent:
    """Return an event with the id of a stored pass."""
    passed = addressed.event.vehicle_pass
    if stored is None or stored.id == passed.id:
        return addressed
    first_s = min(passed.first_seen_s, stored.first_seen_s)
    # Once it is closed, it stays so; what the other owner has seen later is kept all the same.
    progress = "closed" if stored.progress == "closed" else passed.progress
    joined = replace(passed, id=stored.id, first_seen_s=first_s, progress=progress)
    return replace(addressed, event=replace(addressed.event, vehicle_pass=joined))
