"""Writes passes and their deliveries, in the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any

import sqlalchemy as sa

from plate_cameras.clocks import unix_s
from plate_cameras.store.erasing.picture_removals import note_removals
from plate_cameras.store.leases.lease_fence import LeaseFence
from plate_cameras.store.lists.list_lookup import ListLookup
from plate_cameras.store.tables.database import among
from plate_cameras.store.tables.json_values import read_column, to_time
from plate_cameras.store.tables.row_batches import Row, keep_first, replace_by, write_rows
from plate_cameras.store.tables.schema import (
    cameras,
    deliveries,
    list_hits,
    pass_changes,
    pass_zones,
    passes,
    readings,
)
from plate_cameras.store.tables.store_clock import Moment
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.pass_rows import (
    to_delivery_rows,
    to_hit_rows,
    to_pass_row,
    to_reading_rows,
    to_zone_rows,
)
from plate_cameras.store.writing.sink_conditions import Hits, admit, to_question

PARTS = (readings, pass_zones, list_hits)
"""Tables whose rows are written again with each event of their pass."""
ON_CONFLICT = replace_by("id", passes, "number", "stored_s", "epoch", "run")


@dataclass
class PassWriter:
    """Writes events to the tables.

    Attributes:
        clock: Returns the Unix time.
        fence: Rejects events of watchers that have lost the camera.
    """

    lookup: ListLookup = field(default_factory=ListLookup)
    clock: Callable[[], float] = unix_s
    fence: LeaseFence = field(default_factory=LeaseFence)

    def pictures(self, events: Sequence[AddressedEvent]) -> list[bytes]:
        """Return the pictures that must be kept before the events are written."""
        of_claims = defaultdict(list)  # those of one claim may be rejected, and those before not
        for event in events:
            of_claims[event.claim].append(event)
        last_events = chain.from_iterable(_latest(group).values() for group in of_claims.values())
        frames = [event.vehicle_pass.best for event in last_events]
        return [picture for frame in frames for picture in (frame.crop_jpeg, frame.frame_jpeg)]

    def write(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        kept_s: float | None = None,
    ) -> None:
        """Write the last state of each pass, and a delivery for each event and its sinks.

        Args:
            connection: The transaction.
            events: The events, in their order.
            kept_s: The store's time, from which the age of the passes counts.
        """
        for lease_events in _split_by_lease(events):
            if admitted_events := self.fence.admit(connection, lease_events):
                self._write(connection, admitted_events, kept_s)

    def _write(
        self, connection: sa.Connection, events: Sequence[AddressedEvent], kept_s: float | None
    ) -> None:
        _add_cameras(connection, events)
        hits = self.lookup.match_stored(connection, map(to_question, events))
        latest = _latest(events)
        known_passes = _read_known(connection, [*latest])
        newer = {
            pass_id: event
            for pass_id, event in latest.items()
            if _is_news(event, known_passes.get(pass_id))
        }
        _write_passes(connection, [*newer.values()], known_passes, kept_s)
        numbers = {pass_id: row.number for pass_id, row in known_passes.items()}
        numbers |= _read_numbers(connection, [*(latest.keys() - known_passes.keys())])
        self._write_parts(connection, newer, numbers, known_passes, hits)
        to_deliver = [
            event
            for event in events
            if not _is_late(event, known_passes.get(event.vehicle_pass.id))
        ]
        self._write_deliveries(connection, to_deliver, numbers, kept_s, hits)
        self._write_changes(connection, events, {*newer}, numbers)

    def _write_parts(
        self,
        connection: sa.Connection,
        events: Mapping[str, AddressedEvent],
        numbers: dict[str, int],
        known_passes: Mapping[str, Any],
        hits: Hits,
    ) -> None:
        """Write the readings, zones and hits of passes, in place of those that are there."""
        rows_of_tables: dict[sa.Table, list[Row]] = {table: [] for table in PARTS}
        for pass_id, event in events.items():
            vehicle_pass, number = event.vehicle_pass, numbers[pass_id]
            rows_of_tables[readings] += to_reading_rows(vehicle_pass, number)
            rows_of_tables[pass_zones] += to_zone_rows(vehicle_pass, number)
            rows_of_tables[list_hits] += to_hit_rows(vehicle_pass, number, hits[to_question(event)])
        known = {"numbers": [numbers[pass_id] for pass_id in events if pass_id in known_passes]}
        for table, rows in rows_of_tables.items():
            if known["numbers"]:
                connection.execute(_delete_parts(connection.dialect.name, table), known)
            write_rows(connection, table, rows)

    def _write_deliveries(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        numbers: dict[str, int],
        kept_s: float | None,
        hits: Hits,
    ) -> None:
        now = Moment(self.clock(), kept_s)
        rows = [
            row
            for event in admit(connection, events, hits, now)
            if event.sinks
            for row in to_delivery_rows(
                event, numbers[event.vehicle_pass.id], now, hits[to_question(event)]
            )
        ]
        write_rows(connection, deliveries, rows, keep_first("id", "sink"))

    def _write_changes(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        changed_ids: set[str],
        numbers: dict[str, int],
    ) -> None:
        """Log the events. It is the last step, because listeners wait for lower numbers."""
        now_s = self.clock()
        rows = [
            {"pass_number": numbers[vehicle_pass.id], "kind": event.kind, "time_s": now_s}
            for event in events
            if (vehicle_pass := event.vehicle_pass).id in changed_ids
        ]
        write_rows(connection, pass_changes, rows)


def _split_by_lease(events: Sequence[AddressedEvent]) -> Iterator[list[AddressedEvent]]:
    """Split events where a camera has another lease: the fence finds written passes alone."""
    lease_events: list[AddressedEvent] = []
    epochs: dict[str, int | None] = {}
    for event in events:
        camera = event.vehicle_pass.camera
        epoch = event.claim.epoch if event.claim else None
        if epochs.setdefault(camera, epoch) != epoch:
            yield lease_events
            lease_events, epochs = [], {camera: epoch}
        lease_events.append(event)
    if lease_events:
        yield lease_events


def _latest(events: Sequence[AddressedEvent]) -> dict[str, AddressedEvent]:
    """Return the last event of each pass, by the pass's id; writers lock passes in this order."""
    latest: dict[str, AddressedEvent] = {}
    for event in events:
        earlier_event = latest.get(event.vehicle_pass.id)
        if earlier_event is None or earlier_event.kind != "closed":
            latest[event.vehicle_pass.id] = event
    return dict(sorted(latest.items()))


@cache
def _select_cameras(dialect: str) -> sa.Select[Any]:
    is_chosen = among(dialect, cameras.c.name, "names")
    return sa.select(cameras.c.name, cameras.c.lists).where(is_chosen)


@cache
def _select_known(dialect: str) -> sa.Select[Any]:
    columns = (passes.c.number, passes.c.id, passes.c.progress, passes.c.last_seen_s)
    statement = sa.select(*columns, passes.c.crop, passes.c.frame)
    return (
        statement.where(among(dialect, passes.c.id, "ids")).order_by(passes.c.id).with_for_update()
    )


@cache
def _select_numbers(dialect: str) -> sa.Select[Any]:
    return sa.select(passes.c.id, passes.c.number).where(among(dialect, passes.c.id, "ids"))


@cache
def _delete_parts(dialect: str, table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(among(dialect, table.c.pass_number, "numbers"))


def _add_cameras(connection: sa.Connection, events: Sequence[AddressedEvent]) -> None:
    """Add the cameras of events that are not known; they have no lists."""
    names = sorted({event.vehicle_pass.camera for event in events})
    rows = connection.execute(_select_cameras(connection.dialect.name), {"names": names})
    known_names = {row.name for row in rows}
    new_rows = [{"name": name, "lists": []} for name in names if name not in known_names]
    write_rows(connection, cameras, new_rows, keep_first("name"))


def _read_known(connection: sa.Connection, ids: Sequence[str]) -> dict[str, Any]:
    """Return what the database has of these passes, and lock it against other writers."""
    rows = connection.execute(_select_known(connection.dialect.name), {"ids": ids})
    return {row.id: row for row in rows}


def _read_numbers(connection: sa.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers that the database gave to new passes."""
    if not ids:
        return {}
    rows = connection.execute(_select_numbers(connection.dialect.name), {"ids": ids})
    return {row.id: row.number for row in rows}


def _write_passes(
    connection: sa.Connection,
    events: Sequence[AddressedEvent],
    known_passes: Mapping[str, Any],
    kept_s: float | None,
) -> None:
    rows = [to_pass_row(event) | {"kept_s": kept_s} for event in events]
    _note_replaced_pictures(connection, rows, known_passes)
    write_rows(connection, passes, rows, ON_CONFLICT)


def _is_news(event: AddressedEvent, known_pass: Any | None) -> bool:
    """Tell whether an event is newer than what is stored: a write may be repeated late."""
    if known_pass is None:
        return True
    vehicle_pass = event.vehicle_pass
    is_closed = vehicle_pass.progress == "closed"
    seen_s = read_column(f"pass {known_pass.id}", "last_seen_s", known_pass.last_seen_s, to_time)
    is_newer = seen_s is None or vehicle_pass.last_seen_s >= seen_s
    if known_pass.progress == "closed":
        return is_closed and is_newer
    return is_closed or is_newer


def _is_late(event: AddressedEvent, known_pass: Any | None) -> bool:
    """Tell whether the pass was closed before: sinks get no event after `closed`.

    Such events come of a vehicle that two owners of its camera have seen.
    """
    return known_pass is not None and known_pass.progress == "closed" and event.kind != "closed"


def _note_replaced_pictures(
    connection: sa.Connection, rows: Sequence[Row], known_passes: Mapping[str, Any]
) -> None:
    """Note the pictures that passes no longer show; retention removes them."""
    replaced_digests = {
        digest
        for row in rows
        if row["id"] in known_passes
        for digest in (known_passes[row["id"]].crop, known_passes[row["id"]].frame)
        if digest and digest not in (row["crop"], row["frame"])
    }
    note_removals(connection, replaced_digests)
