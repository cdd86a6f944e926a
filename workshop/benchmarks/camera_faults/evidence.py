"""Evidence of a run about each vehicle: looks, stored passes, events of each sink, and openings."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import gate_openings, passes
from workshop.benchmarks.camera_faults.world import EVENTS, SINKS, World

ACCEPTED = ("ok", "slow", "endless")
"""Manners of the webhook that give a 2xx status: the event has arrived for good."""


@dataclass(frozen=True)
class AnsweredLook:
    """A frame that the service has answered, by the monotonic clock."""

    at_s: float
    camera: int
    vehicle: int


@dataclass(frozen=True)
class SinkEvent:
    """An event that a sink has got."""

    id: str
    kind: str
    pass_id: str
    text: str


@dataclass(frozen=True)
class GateRequest:
    """A request to the relay, by the monotonic clock."""

    at_s: float
    text: str


@dataclass(frozen=True)
class Evidence:
    """Everything that was written down.

    Attributes:
        looks: Answered frames in the order of time.
        pass_counts: Number of passes by text.
        sink_events: Events by sink, in their order.
        outcomes: Records of the gate by text and outcome.
    """

    looks: Sequence[AnsweredLook]
    pass_counts: Mapping[str, int]
    unclosed: frozenset[str]
    sink_events: Mapping[str, Sequence[SinkEvent]]
    requests: Sequence[GateRequest]
    outcomes: Mapping[tuple[str, str], int]


def read_looks(world: World) -> list[AnsweredLook]:
    """Return the frames that the service has answered."""
    lines = world.looks.read_text(encoding="utf-8").splitlines() if world.looks.exists() else []
    parts = [line.split() for line in lines]
    return sorted(
        (AnsweredLook(float(at), int(camera), int(vehicle)) for at, camera, vehicle in parts),
        key=lambda look: look.at_s,
    )


def collect(world: World) -> Evidence:
    """Read everything that there is now.

    Raises:
        PlateError: The database does not answer.
    """
    pass_counts, unclosed, outcomes = _read_store(world.url)
    documents: dict[str, Iterable[dict[str, Any]]] = dict(
        zip(
            SINKS,
            (
                (json.loads(line["body"]) | {"id": line["id"]} for line in _accepted(world)),
                [*world.subscriber.documents],
                _read_lines(world.folder / EVENTS / "passes.jsonl"),
            ),
            strict=True,
        )
    )
    return Evidence(
        read_looks(world),
        pass_counts,
        unclosed,
        {sink: [*map(_parse_event, sink_documents)] for sink, sink_documents in documents.items()},
        [
            GateRequest(line["at_s"], json.loads(line["body"])["plate"])
            for line in _read_lines(world.relay.requests)
        ],
        outcomes,
    )


def count_repeated(evidence: Evidence) -> int:
    """Return how many events came to a sink that already had them."""
    ids = [[event.id for event in events] for events in evidence.sink_events.values()]
    return sum(len(event_ids) - len({*event_ids}) for event_ids in ids)


def find_closed(evidence: Evidence, sink: str) -> set[str]:
    """Return the texts of which a sink has got the last event."""
    return {event.text for event in evidence.sink_events[sink] if event.kind == "pass.closed"}


def count_several_ids(evidence: Evidence) -> int:
    """Return how many events were told under several ids."""
    ids: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for event in (event for events in evidence.sink_events.values() for event in events):
        if event.kind != "pass.updated":
            ids[event.pass_id, event.kind].add(event.id)
    return sum(len(events) > 1 for events in ids.values())


def count_misplaced(evidence: Evidence) -> int:
    """Return how many events came to a sink for the first time after the pass's last event."""
    misplaced = 0
    for events in evidence.sink_events.values():
        closed_passes: set[str] = set()
        ids: set[str] = set()
        for event in events:
            misplaced += event.pass_id in closed_passes and event.id not in ids
            ids.add(event.id)
            closed_passes |= {event.pass_id} if event.kind == "pass.closed" else set()
    return misplaced


def _read_store(url: str) -> tuple[Counter[str], frozenset[str], Counter[tuple[str, str]]]:
    database = Database(url)
    try:
        with database.reading() as connection:
            rows = connection.execute(sa.select(passes.c.text, passes.c.progress)).all()
            columns = sa.select(gate_openings.c.text, gate_openings.c.outcome)
            openings = connection.execute(columns).all()
    finally:
        database.close()
    unclosed = frozenset(row.text for row in rows if row.progress != "closed")
    outcomes = Counter((row.text, row.outcome) for row in openings)
    return Counter(row.text for row in rows), unclosed, outcomes


def _accepted(world: World) -> list[dict[str, Any]]:
    lines = _read_lines(world.webhook.requests)
    return [line for line in lines if line["manner"] in ACCEPTED]


def _read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the documents of a file; a line that is being written is left out."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _parse_event(document: Mapping[str, Any]) -> SinkEvent:
    vehicle_pass = document["data"]
    return SinkEvent(document["id"], document["type"], vehicle_pass["id"], vehicle_pass["text"])
