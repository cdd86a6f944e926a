"""Writes passes and their deliveries, in the caller's transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.events import to_document
from orchestrator.cameras.store.addressed_events import AddressedEvent
from orchestrator.cameras.store.database import insert
from orchestrator.cameras.store.lease_fence import LeaseFence
from orchestrator.cameras.store.list_lookup import ListLookup
from orchestrator.cameras.store.pass_rows import (
    Row,
    describe_hits,
    to_hit_rows,
    to_pass_row,
    to_reading_rows,
    to_zone_rows,
)
from orchestrator.cameras.store.schema import (
    cameras,
    deliveries,
    list_hits,
    pass_changes,
    pass_zones,
    passes,
    picture_removals,
    readings,
)

PARTS = (readings, pass_zones, list_hits)
"""Tables whose rows are written again with each event of their pass."""


@dataclass
class PassWriter:
    """Writes events to the tables.

    Attributes:
        lookup: The lists.
        clock: Returns the Unix time.
        fence: Rejects events of watchers that have lost the camera.
    """

    lookup: ListLookup = field(default_factory=ListLookup)
    clock: Callable[[], float] = time.time
    fence: LeaseFence = field(default_factory=LeaseFence)

    def pictures(self, events: Sequence[AddressedEvent]) -> list[bytes]:
        """Return the pictures that must be kept before the events are written."""
        best = [one.event.passed.best for one in _latest(events).values()]
        return [picture for one in best for picture in (one.crop_jpeg, one.frame_jpeg)]

    def write(self, connection: sa.Connection, events: Sequence[AddressedEvent]) -> None:
        """Write the last state of each pass, and a delivery for each event and its sinks."""
        events = self.fence.admit(connection, events)
        if not events:
            return
        _add_cameras(connection, events)
        self.lookup.refresh(connection)
        latest = _latest(events)
        known = _read_known(connection, latest)
        newer = [one for one in latest.values() if _is_news(one, known.get(one.event.passed.id))]
        numbers = {key: row.number for key, row in known.items()}
        numbers |= self._write_passes(connection, newer, known)
        self._write_parts(connection, newer, numbers)
        self._write_deliveries(connection, events, numbers)
        self._write_changes(connection, events, {one.event.passed.id for one in newer}, numbers)

    def _write_passes(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        known: dict[str, Any],
    ) -> dict[str, int]:
        rows = [to_pass_row(one) for one in events]
        if not rows:
            return {}
        _remove_replaced_pictures(connection, rows, known)
        statement = insert(connection, passes)
        kept = {"number", "id", "stored_s"}
        values = {one.name: one for one in statement.excluded if one.name not in kept}
        upsert = statement.on_conflict_do_update(index_elements=[passes.c.id], set_=values)
        written = connection.execute(upsert.returning(passes.c.id, passes.c.number), rows)
        return {row.id: row.number for row in written}

    def _write_parts(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        numbers: dict[str, int],
    ) -> None:
        """Replace the readings, zones and hits of passes."""
        rows: dict[sa.Table, list[Row]] = {table: [] for table in PARTS}
        written = []
        for one in events:
            passed = one.event.passed
            number = numbers[passed.id]
            written.append(number)
            hits = self.lookup.match(passed.camera, passed.text, one.time_s)
            rows[readings] += to_reading_rows(passed, number)
            rows[pass_zones] += to_zone_rows(passed, number)
            rows[list_hits] += to_hit_rows(passed, number, hits)
        for table, added in rows.items():
            connection.execute(sa.delete(table).where(table.c.pass_number.in_(written)))
            if added:
                connection.execute(sa.insert(table), added)

    def _write_deliveries(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        numbers: dict[str, int],
    ) -> None:
        rows = [
            row
            for one in events
            if one.sinks
            for row in self._delivery_rows(one, numbers[one.event.passed.id])
        ]
        if rows:
            statement = insert(connection, deliveries).on_conflict_do_nothing(
                index_elements=[deliveries.c.id, deliveries.c.sink]
            )
            connection.execute(statement, rows)

    def _write_changes(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        changed: set[str],
        numbers: dict[str, int],
    ) -> None:
        """Log the events. It is the last step, because listeners wait for lower numbers."""
        now_s = self.clock()
        rows = [
            {"pass_number": numbers[passed.id], "kind": one.event.kind, "time_s": now_s}
            for one in events
            if (passed := one.event.passed).id in changed
        ]
        if rows:
            connection.execute(sa.insert(pass_changes), rows)

    def _delivery_rows(self, addressed: AddressedEvent, number: int) -> list[Row]:
        passed = addressed.event.passed
        hits = self.lookup.match(passed.camera, passed.text, addressed.time_s)
        document = to_document(addressed.event)
        document["data"]["lists"] = describe_hits(hits)
        common = {"id": addressed.id, "pass_number": number, "state": "waiting", "attempts": 0}
        times = {"created_s": addressed.stored_s, "due_s": addressed.stored_s, "reason": ""}
        return [{**common, **times, "sink": sink, "document": document} for sink in addressed.sinks]


def _latest(events: Sequence[AddressedEvent]) -> dict[str, AddressedEvent]:
    """Return the last event of each pass, by the pass's id; writers lock passes in this order."""
    latest: dict[str, AddressedEvent] = {}
    for one in events:
        before = latest.get(one.event.passed.id)
        if before is None or before.event.kind != "closed":
            latest[one.event.passed.id] = one
    return dict(sorted(latest.items()))


def _add_cameras(connection: sa.Connection, events: Sequence[AddressedEvent]) -> None:
    names = sorted({one.event.passed.camera for one in events})
    known = connection.execute(sa.select(cameras.c.name).where(cameras.c.name.in_(names)))
    if missing := sorted(set(names) - {row.name for row in known}):
        statement = insert(connection, cameras).on_conflict_do_nothing()
        connection.execute(statement, [{"name": name, "lists": []} for name in missing])


def _read_known(connection: sa.Connection, latest: dict[str, AddressedEvent]) -> dict[str, Any]:
    """Return what the database has of these passes, and lock it against other writers."""
    columns = (passes.c.number, passes.c.id, passes.c.progress, passes.c.last_seen_s)
    found = sa.select(*columns, passes.c.crop, passes.c.frame).where(passes.c.id.in_([*latest]))
    rows = connection.execute(found.order_by(passes.c.id).with_for_update())
    return {row.id: row for row in rows}


def _is_news(addressed: AddressedEvent, known: Any | None) -> bool:
    """Tell whether an event is newer than what is stored: a write may be repeated late."""
    if known is None:
        return True
    passed = addressed.event.passed
    if known.progress == "closed":
        return passed.progress == "closed" and passed.last_seen_s >= known.last_seen_s
    return passed.progress == "closed" or passed.last_seen_s >= known.last_seen_s


def _remove_replaced_pictures(
    connection: sa.Connection,
    rows: Sequence[Row],
    known: dict[str, Any],
) -> None:
    """Note the pictures that passes no longer show; retention removes them."""
    replaced = {
        old
        for row in rows
        if row["id"] in known
        for old in (known[row["id"]].crop, known[row["id"]].frame)
        if old and old not in (row["crop"], row["frame"])
    }
    if replaced:
        statement = insert(connection, picture_removals).on_conflict_do_nothing()
        connection.execute(statement, [{"digest": digest} for digest in sorted(replaced)])
