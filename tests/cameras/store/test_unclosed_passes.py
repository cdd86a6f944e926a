"""Passes of a watcher that died, in both databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.passes import LeaseClaim, PassEvent
from orchestrator.cameras.store.camera_leases import read_clock
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.pass_query import PassQuery
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.store.schema import camera_leases, deliveries
from tests.cameras.store.stored_events import REQUESTER, WEBHOOK, make_event

CLAIM = LeaseClaim(1, True)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


def take(database: Database, ago_s: float) -> float:
    """Let a watcher take the camera so many seconds ago; return that Unix time."""
    with database.writing() as connection:
        taken_s = read_clock(connection) - ago_s
        row = {"camera": "gate", "watcher": "next", "epoch": 2, "expires_s": taken_s + 1e6}
        connection.execute(sa.insert(camera_leases).values({**row, "taken_s": taken_s}))
    return taken_s


def told(pass_id: str, at_s: float) -> PassEvent:
    return replace(make_event(pass_id, kind="agreed", first_seen_s=at_s), claim=CLAIM)


def states(store: PassStore) -> dict[str, str]:
    return {one.id: one.progress for one in store.search(PassQuery(), REQUESTER).passes}


def close_left(store: PassStore, watcher: str, sinks: Sequence[Sink]) -> int:
    events = store.unclosed.of_former_owners(watcher)
    store.write(events, sinks)
    return len(events)


def test_what_a_dead_watcher_told_of_is_closed_as_it_was(
    store: PassStore, database: Database
) -> None:
    taken_s = take(database, ago_s=90)
    store.write([told("a", taken_s - 5)], [WEBHOOK])
    before = store.get("a", REQUESTER)
    assert close_left(store, "next", [WEBHOOK]) == 1
    after = store.get("a", REQUESTER)
    assert after.found == replace(before.found, progress="closed")
    assert (after.readings, after.hits) == (before.readings, before.hits)
    with database.reading() as connection:
        ids = connection.execute(sa.select(deliveries.c.id).order_by(deliveries.c.number))
        assert ids.scalars().all() == ["a_agreed_0", "a_closed_0"]
    assert close_left(store, "next", [WEBHOOK]) == 0


@pytest.mark.parametrize(
    ("ago_s", "at_s", "watcher"),
    [
        pytest.param(30, -5, "next", id="the-camera-changed-hands-a-moment-ago"),
        pytest.param(900, -5, "next", id="it-changed-hands-long-ago"),
        pytest.param(90, 5, "next", id="its-own-pass"),
        pytest.param(90, -5, "another", id="the-camera-of-another"),
    ],
)
def test_other_passes_stay_open(
    store: PassStore, database: Database, ago_s: float, at_s: float, watcher: str
) -> None:
    taken_s = take(database, ago_s)
    store.write([told("a", taken_s + at_s)], [])
    assert close_left(store, watcher, []) == 0
    assert states(store) == {"a": "agreed"}
