"""Keeps events of former owners of a camera from being stored as passes of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from plate_cameras.passes import LeaseClaim, Pass
from plate_cameras.store.erasing.picture_removals import note_pictures
from plate_cameras.store.tables.database import is_postgresql
from plate_cameras.store.tables.schema import camera_leases, joined_passes, passes, readings
from plate_cameras.store.writing.addressed_events import AddressedEvent

SEAM_S = 30.0
"""Passes of the same text under two leases of a camera, so close to each other, are one vehicle. A
vehicle that stands may be missed for 20 s, and a change of owner takes up to 10."""
MAX_PASS_S = 3 * 3600.0
"""Time for a pass whose owner ended before it could close it. There are no events of a standing
vehicle, so the last time of its pass may be long ago."""
MIN_READ = 2
"""Number of frames that must show a text, so that it counts as a text of the pass."""
LOCKS = 0x6A6F696E
"""First key of PostgreSQL's advisory locks of cameras. Passes are joined under such a lock."""
ALIAS = "alias"
_JOINED_EPOCH = (
    sa.select(sa.func.max(joined_passes.c.epoch))
    .where(joined_passes.c.pass_number == passes.c.number)
    .correlate(passes)
    .scalar_subquery()
)
STORED_COLUMNS = (
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
    database remembers its second id, so that all its events go to that pass. From then on, only the
    later owner's events count, because the former owner's would be older.
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
        claimed_events = [event for event in events if event.claim]
        if not claimed_events:
            return [*events]
        epochs = _read_epochs(connection, {event.vehicle_pass.camera for event in claimed_events})
        ids = {event.vehicle_pass.id for event in claimed_events}
        stored_passes = _read_stored(connection, ids)
        admitted_events, unused_events = [], []
        for event in events:
            vehicle_pass, claim = event.vehicle_pass, event.claim
            epoch = epochs.get(vehicle_pass.camera)
            if epoch is None or claim is None:
                admitted_events.append(event)
            elif claim.epoch == epoch or claim.is_certain:
                stored_pass = stored_passes.get(vehicle_pass.id)
                if stored_pass is None and (stored_pass := _join(connection, event, claim)):
                    stored_passes[vehicle_pass.id] = stored_pass
                    unused_events.append(event)  # the other pass may keep its own pictures
                if stored_pass is None or _latest_epoch(stored_pass) <= claim.epoch:
                    admitted_events.append(_move_to(stored_pass, event))
                else:
                    unused_events.append(event)
            else:
                unused_events.append(event)
                self.rejected += 1
        note_pictures(connection, (event.vehicle_pass for event in unused_events))
        return admitted_events


def _read_epochs(connection: sa.Connection, cameras: Iterable[str]) -> dict[str, int]:
    """Return the epochs of cameras' leases. In PostgreSQL, other writers of them wait.

    Two owners write at the same time while a camera changes hands. Neither would see the pass that
    the other has not committed yet.
    """
    names = sorted(cameras)
    if is_postgresql(connection):
        lock = "SELECT pg_advisory_xact_lock(%s, hashtext(name)) FROM unnest(%s::text[]) AS name"
        connection.exec_driver_sql(lock, (LOCKS, names))
    columns = (camera_leases.c.camera, camera_leases.c.epoch)
    rows = connection.execute(sa.select(*columns).where(camera_leases.c.camera.in_(names)))
    return {row.camera: row.epoch for row in rows}


def _read_stored(connection: sa.Connection, ids: Iterable[str]) -> dict[str, Any]:
    """Return the passes that the database has under some ids, or whose second ids they are."""
    names, columns = sorted(ids), STORED_COLUMNS
    own_ids = sa.select(passes.c.id.label(ALIAS), *columns).where(passes.c.id.in_(names))
    second_ids = sa.select(joined_passes.c.id.label(ALIAS), *columns)
    second_ids = second_ids.join_from(joined_passes, passes).where(joined_passes.c.id.in_(names))
    return {row.alias: row for row in connection.execute(sa.union_all(own_ids, second_ids))}


def _join(connection: sa.Connection, event: AddressedEvent, claim: LeaseClaim) -> Any | None:
    """Return another owner's pass of the same vehicle, and note that it has this id, too."""
    if not event.vehicle_pass.text:
        return None
    stored_pass = connection.execute(_select_others(event, claim.epoch)).first()
    if stored_pass:
        row = {"id": event.vehicle_pass.id, "pass_number": stored_pass.number, "epoch": claim.epoch}
        connection.execute(sa.insert(joined_passes).values(row))
    return stored_pass


def _latest_epoch(stored_pass: Any) -> int:
    """Return the epoch of the last owner that has reported a pass."""
    return max(filter(None, (stored_pass.epoch, stored_pass.joined_epoch)), default=0)


def _select_others(event: AddressedEvent, epoch: int) -> sa.Select[Any]:
    """Return the statement that finds the nearest pass that could be the same vehicle's.

    All times are those of the camera's frames. A pass takes one second id from each lease.
    """
    columns, vehicle_pass = passes.c, event.vehicle_pass
    is_taken = sa.exists().where(
        joined_passes.c.pass_number == columns.number, joined_passes.c.epoch == epoch
    )
    longest_s = sa.case((columns.progress == "closed", SEAM_S), else_=MAX_PASS_S)
    return (
        sa.select(columns.number, *STORED_COLUMNS)
        .where(columns.camera == vehicle_pass.camera, _has_text_of(vehicle_pass))
        .where(columns.epoch != epoch, ~is_taken)
        .where(columns.last_seen_s + longest_s > vehicle_pass.first_seen_s)
        .where(columns.first_seen_s < vehicle_pass.last_seen_s + SEAM_S)
        .order_by(sa.func.abs(columns.first_seen_s - vehicle_pass.first_seen_s), columns.number)
        .limit(1)
    )


def _has_text_of(vehicle_pass: Pass) -> sa.ColumnElement[bool]:
    """Return the condition that the text of one pass was read in frames of the other."""
    counts = Counter(observation.plate.text for observation in vehicle_pass.observations)
    frequent = {text for text, count in counts.items() if text and count >= MIN_READ}
    texts = sorted({vehicle_pass.text, *frequent})
    is_reading = (readings.c.pass_number == passes.c.number, readings.c.text == vehicle_pass.text)
    count = sa.select(sa.func.count()).select_from(readings).where(*is_reading).scalar_subquery()
    return sa.or_(passes.c.text.in_(texts), count >= MIN_READ)


def _move_to(stored_pass: Any | None, event: AddressedEvent) -> AddressedEvent:
    """Return an event that belongs to a stored pass; None stands for its own."""
    vehicle_pass = event.vehicle_pass
    if stored_pass is None or stored_pass.id == vehicle_pass.id:
        return event
    first_s = min(vehicle_pass.first_seen_s, stored_pass.first_seen_s)
    # Once it is closed, it stays so; what the other owner has seen later is kept all the same.
    progress = "closed" if stored_pass.progress == "closed" else vehicle_pass.progress
    joined_pass = replace(vehicle_pass, id=stored_pass.id, first_seen_s=first_s, progress=progress)
    return replace(event, event=replace(event.event, vehicle_pass=joined_pass))
