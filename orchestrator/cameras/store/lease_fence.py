"""Keeps events of former owners of a camera from being stored as passes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.passes import LeaseClaim, Pass
from orchestrator.cameras.store.addressed_events import AddressedEvent
from orchestrator.cameras.store.database import insert
from orchestrator.cameras.store.pictures import digest_of
from orchestrator.cameras.store.schema import camera_leases, passes, picture_removals

SEAM_S = 30.0
"""Passes of the same text, so close to a change of owner and to each other, are one vehicle. A
vehicle that stands may be missed for 20 s, and a change of owner takes up to 10."""


@dataclass
class LeaseFence:
    """Compares the epoch of each event with that of its camera's lease.

    The owner's events are written. A former owner's events are written if the lease was certainly
    valid until the last frame that shows the pass: nobody else can have seen it. Other events are
    rejected: the new owner has seen those vehicles itself.

    Attributes:
        rejected: Number of events that were rejected.
    """

    rejected: int = 0

    def admit(
        self, connection: sa.Connection, events: Sequence[AddressedEvent]
    ) -> list[AddressedEvent]:
        """Return the events that may be written.

        A vehicle that both owners have seen, while the camera changed hands, becomes one pass.
        """
        names = {one.event.passed.camera for one in events if one.event.claim}
        if not names:
            return [*events]
        found = sa.select(camera_leases).where(camera_leases.c.camera.in_(names))
        leases = {row.camera: row for row in connection.execute(found)}
        admitted, unused = [], []
        for one in events:
            lease, claim = leases.get(one.event.passed.camera), one.event.claim
            if lease is None or claim is None:
                admitted.append(one)
            elif claim.epoch == lease.epoch or claim.is_certain:
                joined = _join(connection, one, claim, lease)
                admitted.append(joined)
                unused += [one] if joined is not one else []
            else:
                unused.append(one)
                self.rejected += 1
        _note_pictures(connection, unused)
        return admitted


def _join(
    connection: sa.Connection, one: AddressedEvent, claim: LeaseClaim, lease: Any
) -> AddressedEvent:
    """Return the event under the id of the other owner's pass, if that one is stored."""
    passed = one.event.passed
    is_owner = claim.epoch == lease.epoch
    at_s = passed.first_seen_s if is_owner else passed.last_seen_s
    if not passed.text or abs(at_s - lease.taken_s) > SEAM_S:
        return one
    other = connection.execute(_others(passed, lease.taken_s, is_owner=is_owner)).first()
    if other is None:
        return one
    first_s = min(passed.first_seen_s, other.first_seen_s)
    joined = replace(passed, id=other.id, first_seen_s=first_s)
    return replace(one, event=replace(one.event, passed=joined))


def _others(passed: Pass, taken_s: float, *, is_owner: bool) -> sa.Select[Any]:
    """Return the statement that finds the other owner's pass of the same vehicle."""
    columns = passes.c
    before = columns.first_seen_s < taken_s
    return (
        sa.select(columns.id, columns.first_seen_s)
        .where(columns.camera == passed.camera, columns.text == passed.text)
        .where(columns.id != passed.id, before if is_owner else ~before)
        .where(columns.last_seen_s > passed.first_seen_s - SEAM_S)
        .where(columns.first_seen_s < passed.last_seen_s + SEAM_S)
        .order_by(columns.first_seen_s.desc() if is_owner else columns.first_seen_s)
        .limit(1)
    )


def _note_pictures(connection: sa.Connection, events: Sequence[AddressedEvent]) -> None:
    """Note pictures that were kept before; retention removes those that no pass shows."""
    best = [one.event.passed.best for one in events]
    pictures = [picture for one in best for picture in (one.crop_jpeg, one.frame_jpeg) if picture]
    if digests := sorted({digest_of(picture) for picture in pictures}):
        statement = insert(connection, picture_removals).on_conflict_do_nothing()
        connection.execute(statement, [{"digest": digest} for digest in digests])
