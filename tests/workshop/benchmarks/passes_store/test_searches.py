"""The measurement of the store, with few passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from workshop.benchmarks.passes_store import searches
from workshop.benchmarks.passes_store.claims import LIMIT, SINK, time_claims
from workshop.benchmarks.passes_store.filling import fill
from workshop.benchmarks.passes_store.made_passes import END_S, make_passes
from workshop.benchmarks.passes_store.search_kinds import KINDS
from workshop.benchmarks.passes_store.searches import REQUESTER, time_searches

COUNT = 600


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'passes.db'}")
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path: Path, database: Database) -> Iterator[PassStore]:
    opened = open_store(Store(), tmp_path)
    fill(database, make_passes(COUNT))
    yield opened
    opened.close()


def test_each_kind_of_search_is_timed_with_its_plan(
    store: PassStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "TIMES", 2)
    timed = list(time_searches(store, database, COUNT))

    assert [one.kind for one in timed] == [*KINDS]
    assert all(0 < one.median_ms <= one.worst_ms and one.plan for one in timed)
    assert all(0 < one.cpu_ms[0] <= one.cpu_ms[-1] for one in timed)


def test_filled_passes_are_found_as_written_ones(store: PassStore) -> None:
    newest = store.search(PassQuery(limit=1), REQUESTER).passes[0]

    found = store.search(PassQuery(parts=(newest.text[1:5],)), REQUESTER)
    assert newest in found.passes
    assert len(store.get(newest.id, REQUESTER).readings) == newest.frames


def test_claims_leave_what_is_confirmed(store: PassStore, database: Database) -> None:
    time_claims(store, database)

    assert store.outbox.claim(SINK, LIMIT, END_S + 1, 60) == []
    assert store.outbox.replay(SINK, 0, END_S) == COUNT
