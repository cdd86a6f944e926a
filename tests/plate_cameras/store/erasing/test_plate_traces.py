"""A plate's text is removed from all columns; the rows stay."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from plate_cameras.passes import PassEvent
from plate_cameras.store.erasing import plate_traces
from plate_cameras.store.erasing.plate_traces import erase_traces
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.schema import searches
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, WEBHOOK, make_event

TEXT, OTHER = "Y908XE77", "Y903XK77"


def misread(pass_id: str = "a") -> PassEvent:
    """Return a pass in whose frames the plate is the reading, a candidate, or absent."""
    event = make_event(pass_id, OTHER)
    one, _ = event.passed.observations
    readings = (
        replace(one.plate, text=TEXT, candidates=()),
        replace(one.plate, candidates=((OTHER, 0.9), (TEXT, 0.05))),
        one.plate,
    )
    looks = tuple(
        replace(one, time_s=one.time_s + at, plate=plate) for at, plate in enumerate(readings)
    )
    candidates = ((OTHER, 0.9), (TEXT, 0.05))
    return replace(event, passed=replace(event.passed, observations=looks, candidates=candidates))


def erase(store: PassStore) -> None:
    erase_traces(store.writer.database, TEXT)


def read_searches(store: PassStore) -> list[tuple[object, object]]:
    with store.writer.database.reading() as connection:
        columns = searches.c.query, searches.c.why
        rows = connection.execute(sa.select(*columns).order_by(searches.c.number))
        return [(query, why) for query, why in rows]


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_many_passes_are_changed_in_small_transactions(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(plate_traces, "BATCH", batch)
    names = [f"{at}" for at in range(5)]
    store.write([misread(name) for name in names], [WEBHOOK])
    erase(store)

    assert all(TEXT not in str(store.get(name, REQUESTER)) for name in names)
    deliveries = store.outbox.claim("webhook", 9, NOW_S, 60)
    assert len(deliveries) == 5
    assert TEXT not in str(deliveries)


@pytest.mark.parametrize("page", [1, 2, 5, 6])
def test_searches_of_many_pages_lose_the_plate(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(plate_traces, "FOUND_AT_ONCE", page)
    for text, why in [(TEXT, "a"), (OTHER, f"of {TEXT}"), (OTHER, "b"), (OTHER, "c"), (TEXT, "d")]:
        store.search(PassQuery(text), Requester("officer", why))
    erase(store)

    assert read_searches(store) == [
        ({"text": "deleted"}, "a"),
        ({"text": OTHER}, "of deleted"),
        ({"text": OTHER}, "b"),
        ({"text": OTHER}, "c"),
        ({"text": "deleted"}, "d"),
    ]


def test_the_other_traces_go_though_those_of_passes_cannot(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(plate_traces, "erase_from_passes", fail)
    store.lists.create("residents", f"not {TEXT}")
    store.search(PassQuery(TEXT), REQUESTER)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        erase(store)

    assert [one.note for one in store.lists.describe(EVERYTHING)] == ["not deleted"]
    assert [query for query, _ in read_searches(store)] == [{"text": "deleted"}]
