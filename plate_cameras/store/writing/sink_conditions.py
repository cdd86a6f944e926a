"""The conditions of sinks that need the database: lists, and the plate's last event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.lists.list_lookup import ListHit, Question
from plate_cameras.store.tables.schema import deliveries
from plate_cameras.store.tables.store_clock import MARK_EVERY_S, Moment
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.sql_outbox import ABANDONED

Hits = Mapping[Question, Mapping[int, ListHit]]
SKEW_S = MARK_EVERY_S
"""Largest difference of the store's clock between watchers that share a database."""
Times = dict[tuple[str, str], list[float]]
"""Times of the events of a sink and a text, by the store's clock."""


def to_question(event: AddressedEvent) -> Question:
    vehicle_pass = event.vehicle_pass
    return vehicle_pass.camera, vehicle_pass.text, event.time_s


def admit(
    connection: sa.Connection, events: Sequence[AddressedEvent], hits: Hits, now: Moment
) -> list[AddressedEvent]:
    """Return events with those of their sinks whose conditions hold.

    The outbox itself tells what a sink had of a plate. So a restart forgets nothing, and watchers
    that share a database know of each other's events. The store's clock measures hold-offs, because
    anybody may set the wall clock.
    """
    times = _read_times(connection, events, now)
    return [_admit(event, hits[to_question(event)], times, now) for event in events]


def _admit(
    event: AddressedEvent, hits: Mapping[int, ListHit], times: Times, now: Moment
) -> AddressedEvent:
    text, event_s = event.vehicle_pass.text, now.to_kept_s(event.stored_s)
    lists, sinks = {hit.list for hit in hits.values()}, []
    for sink in event.sinks:
        condition = event.conditions.get(sink)
        if condition:
            if not condition.admits(text, lists):
                continue
            since_s, until_s = event_s - condition.hold_off_s, event_s + SKEW_S
            if any(since_s < time_s <= until_s for time_s in times.get((sink, text), ())):
                continue
            if condition.hold_off_s and text:
                times[sink, text].append(event_s)
        sinks.append(sink)
    return replace(event, sinks=tuple(sinks))


def _read_times(connection: sa.Connection, events: Sequence[AddressedEvent], now: Moment) -> Times:
    """Return when sinks with a hold-off had events of these plates."""
    spans_of_sinks = defaultdict[str, list[tuple[float, float, str]]](list)
    for event in events:
        text, event_s = event.vehicle_pass.text, now.to_kept_s(event.stored_s)
        for sink in event.sinks:
            condition = event.conditions.get(sink)
            if condition and condition.hold_off_s and text:
                spans_of_sinks[sink].append(
                    (event_s - condition.hold_off_s, event_s + SKEW_S, text)
                )
    times: Times = defaultdict(list)
    for sink, spans in spans_of_sinks.items():
        parameters = {
            "of": sink,
            "since_s": min(since_s for since_s, _, _ in spans),
            "until_s": max(until_s for _, until_s, _ in spans),
            "texts": sorted({text for _, _, text in spans}),
        }
        for text, time_s in connection.execute(_select_sent(), parameters):
            times[sink, text].append(time_s)
    return times


@cache
def _select_sent() -> sa.Select[Any]:
    """Return the statement that finds a sink's events of some plates in a time."""
    columns = deliveries.c
    text = columns.document["data", "text"].as_string()
    return sa.select(text, columns.created_s).where(
        columns.sink == sa.bindparam("of"),
        columns.created_s.between(sa.bindparam("since_s"), sa.bindparam("until_s")),
        columns.state != ABANDONED,
        text.in_(sa.bindparam("texts", expanding=True)),
    )
