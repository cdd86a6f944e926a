"""Writes passes and their deliveries, in the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa

from plate_cameras.clocks import unix_s
from plate_cameras.store.leases.lease_fence import LeaseFence
from plate_cameras.store.lists.list_lookup import ListLookup
from plate_cameras.store.tables.database import among
from plate_cameras.store.tables.row_batches import Row, keep_first, replace_by, write_rows
from plate_cameras.store.tables.schema import (
    cameras,
    deliveries,
    list_hits,
    pass_changes,
    pass_zones,
    passes,
    picture_removals,
    readings,
)
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
REPLACED = replace_by("id", passes, "number", "stored_s", "epoch", "run")


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
        for addressed in events:
            of_claims[addressed.event.claim].append(addressed)
        last = [addressed for some in of_claims.values() for addressed in _latest(some).values()]
        best = [addressed.event.vehicle_pass.best for addressed in last]
        return [picture for look in best for picture in (look.crop_jpeg, look.frame_jpeg)]

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
        for some in _split_by_lease(events):
            if admitted := self.fence.admit(connection, some):
                self._write(connection, admitted, kept_s)

    def _write(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        kept_s: float | None,
    ) -> None:
        _add_cameras(connection, events)
        hits = self.lookup.match_stored(connection, map(to_question, events))
        latest = _latest(events)
        known = _read_known(connection, [*latest])
        newer = [
            addressed
            for addressed in latest.values()
            if _is_news(addressed, known.get(addressed.event.vehicle_pass.id))
        ]
        _write_passes(connection, newer, known, kept_s)
        numbers = {key: row.number for key, row in known.items()}
        numbers |= _read_numbers(connection, [key for key in latest if key not in known])
        self._write_parts(connection, newer, numbers, known, hits)
        told = [
            addressed
            for addressed in events
            if not _is_late(addressed, known.get(addressed.event.vehicle_pass.id))
        ]
        self._write_deliveries(connection, told, numbers, kept_s, hits)
        self._write_changes(
            connection, events, {addressed.event.vehicle_pass.id for addressed in newer}, numbers
        )

    def _write_parts(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        numbers: dict[str, int],
        known: Mapping[str, Any],
        hits: Hits,
    ) -> None:
        """Write the readings, zones and hits of passes, in place of those that are there."""
        rows: dict[sa.Table, list[Row]] = {table: [] for table in PARTS}
        for addressed in events:
            passed = addressed.event.vehicle_pass
            number = numbers[passed.id]
            rows[readings] += to_reading_rows(passed, number)
            rows[pass_zones] += to_zone_rows(passed, number)
            rows[list_hits] += to_hit_rows(passed, number, hits[to_question(addressed)])
        again = [
            numbers[key]
            for addressed in events
            if (key := addressed.event.vehicle_pass.id) in known
        ]
        for table, added in rows.items():
            if again:
                connection.execute(_deletion(connection.dialect.name, table), {"numbers": again})
            write_rows(connection, table, added)

    def _write_deliveries(
        self,
        connection: sa.Connection,
        events: Sequence[AddressedEvent],
        numbers: dict[str, int],
        kept_s: float | None,
        hits: Hits,
    ) -> None:
        rows = [
            row
            for addressed in admit(connection, events, hits)
            if addressed.sinks
            for row in to_delivery_rows(
                addressed,
                numbers[addressed.event.vehicle_pass.id],
                kept_s,
                hits[to_question(addressed)],
            )
        ]
        write_rows(connection, deliveries, rows, keep_first("id", "sink"))

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
            {"pass_number": numbers[passed.id], "kind": addressed.event.kind, "time_s": now_s}
            for addressed in events
            if (passed := addressed.event.vehicle_pass).id in changed
        ]
        write_rows(connection, pass_changes, rows)


def _split_by_lease(events: Sequence[AddressedEvent]) -> Iterator[list[AddressedEvent]]:
    """Split events where a camera has another lease: the fence finds written passes alone."""
    some: list[AddressedEvent] = []
    epochs: dict[str, int | None] = {}
    for addressed in events:
        camera = addressed.event.vehicle_pass.camera
        epoch = addressed.event.claim.epoch if addressed.event.claim else None
        if epochs.setdefault(camera, epoch) != epoch:
            yield some
            some, epochs = [], {camera: epoch}
        some.append(addressed)
    if some:
        yield some


def _latest(events: Sequence[AddressedEvent]) -> dict[str, AddressedEvent]:
    """Return the last event of each pass, by the pass's id; writers lock passes in this order."""
    latest: dict[str, AddressedEvent] = {}
    for addressed in events:
        before = latest.get(addressed.event.vehicle_pass.id)
        if before is None or before.event.kind != "closed":
            latest[addressed.event.vehicle_pass.id] = addressed
    return dict(sorted(latest.items()))


@cache
def _cameras(dialect: str) -> sa.Select[Any]:
    chosen = among(dialect, cameras.c.name, "names")
    return sa.select(cameras.c.name, cameras.c.lists).where(chosen)


@cache
def _known(dialect: str) -> sa.Select[Any]:
    columns = (passes.c.number, passes.c.id, passes.c.progress, passes.c.last_seen_s)
    statement = sa.select(*columns, passes.c.crop, passes.c.frame)
    return (
        statement.where(among(dialect, passes.c.id, "ids")).order_by(passes.c.id).with_for_update()
    )


@cache
def _numbers(dialect: str) -> sa.Select[Any]:
    return sa.select(passes.c.id, passes.c.number).where(among(dialect, passes.c.id, "ids"))


@cache
def _deletion(dialect: str, table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(among(dialect, table.c.pass_number, "numbers"))


def _add_cameras(connection: sa.Connection, events: Sequence[AddressedEvent]) -> None:
    """Add the cameras of events that are not known; they have no lists."""
    names = sorted({addressed.event.vehicle_pass.camera for addressed in events})
    known = {
        row.name for row in connection.execute(_cameras(connection.dialect.name), {"names": names})
    }
    missing = [{"name": name, "lists": []} for name in names if name not in known]
    write_rows(connection, cameras, missing, keep_first("name"))


def _read_known(connection: sa.Connection, ids: Sequence[str]) -> dict[str, Any]:
    """Return what the database has of these passes, and lock it against other writers."""
    rows = connection.execute(_known(connection.dialect.name), {"ids": ids})
    return {row.id: row for row in rows}


def _read_numbers(connection: sa.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers that the database gave to new passes."""
    if not ids:
        return {}
    rows = connection.execute(_numbers(connection.dialect.name), {"ids": ids})
    return {row.id: row.number for row in rows}


def _write_passes(
    connection: sa.Connection,
    events: Sequence[AddressedEvent],
    known: Mapping[str, Any],
    kept_s: float | None,
) -> None:
    rows = [to_pass_row(addressed) | {"kept_s": kept_s} for addressed in events]
    _remove_replaced_pictures(connection, rows, known)
    write_rows(connection, passes, rows, REPLACED)


def _is_news(addressed: AddressedEvent, known: Any | None) -> bool:
    """Tell whether an event is newer than what is stored: a write may be repeated late."""
    if known is None:
        return True
    passed = addressed.event.vehicle_pass
    if known.progress == "closed":
        return passed.progress == "closed" and passed.last_seen_s >= known.last_seen_s
    return passed.progress == "closed" or passed.last_seen_s >= known.last_seen_s


def _is_late(addressed: AddressedEvent, known: Any | None) -> bool:
    """Tell whether the pass was closed before: its event `closed` is the last that is told.

    Such events come of a vehicle that two owners of its camera have seen.
    """
    return known is not None and known.progress == "closed" and addressed.event.kind != "closed"


def _remove_replaced_pictures(
    connection: sa.Connection,
    rows: Sequence[Row],
    known: Mapping[str, Any],
) -> None:
    """Note the pictures that passes no longer show; retention removes them."""
    replaced = {
        old
        for row in rows
        if row["id"] in known
        for old in (known[row["id"]].crop, known[row["id"]].frame)
        if old and old not in (row["crop"], row["frame"])
    }
    removals = [{"digest": digest} for digest in sorted(replaced)]
    write_rows(connection, picture_removals, removals, keep_first("digest"))
