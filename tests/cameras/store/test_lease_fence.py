"""Events of watchers that have lost a camera, in both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.cameras.passes import LeaseClaim, PassEvent
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.pass_query import PassQuery
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.store.schema import camera_leases, deliveries, picture_removals
from tests.cameras.store.stored_events import NOW_S, REQUESTER, WEBHOOK, Kind, find_ids, make_event

TAKEN_S = NOW_S - 100
OLD, NEW = LeaseClaim(1, True), LeaseClaim(2, True)
DOUBTFUL = LeaseClaim(1, False)


def seen(
    pass_id: str, at_s: float, claim: LeaseClaim | None, *, kind: Kind = "closed", text: str = "A1"
) -> PassEvent:
    """Return an event of a pass of a second, so many seconds after the change of owner."""
    return replace(make_event(pass_id, text, kind, first_seen_s=TAKEN_S + at_s), claim=claim)


@pytest.fixture
def leased(store: PassStore, url: str) -> PassStore:
    """Return a store whose camera changed hands at TAKEN_S."""
    row = {"camera": "gate", "watcher": "new", "epoch": 2}
    _execute(url, sa.insert(camera_leases).values({**row, "taken_s": TAKEN_S, "expires_s": NOW_S}))
    return store


def _execute(url: str, statement: sa.Insert) -> None:
    database = Database(url)
    with database.writing() as connection:
        connection.execute(statement)
    database.close()


def _count(url: str, table: sa.Table) -> int:
    database = Database(url)
    with database.reading() as connection:
        count = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
    database.close()
    return int(count)


@pytest.mark.parametrize(
    ("claim", "stored"),
    [
        pytest.param(NEW, ["a"], id="owner"),
        pytest.param(LeaseClaim(2, False), ["a"], id="owner-who-was-not-sure"),
        pytest.param(OLD, ["a"], id="former-owner-before-the-change"),
        pytest.param(DOUBTFUL, [], id="former-owner-after-it"),
        pytest.param(None, ["a"], id="not-shared"),
    ],
)
def test_only_what_the_owner_cannot_have_seen_is_stored_of_others(
    leased: PassStore, claim: LeaseClaim | None, stored: list[str]
) -> None:
    leased.write([seen("a", -300, claim)], [])
    assert find_ids(leased, PassQuery()) == stored
    assert leased.writer.rows.fence.rejected == 1 - len(stored)


def test_a_camera_without_a_lease_is_not_fenced(store: PassStore) -> None:
    store.write([seen("a", 0, DOUBTFUL)], [])
    assert find_ids(store, PassQuery()) == ["a"]


def test_pictures_of_rejected_events_are_removed(leased: PassStore, url: str) -> None:
    leased.write([seen("a", 5, DOUBTFUL)], [WEBHOOK])
    assert _count(url, picture_removals) == 2
    assert leased.delete_expired(NOW_S).pictures == 2
    assert _count(url, deliveries) == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(seen("old", -5, OLD), seen("new", 5, NEW), id="the-former-owner-first"),
        pytest.param(seen("new", 5, NEW), seen("old", -5, OLD), id="the-former-owner-later"),
    ],
)
def test_a_vehicle_that_both_have_seen_is_one_pass(
    leased: PassStore, url: str, first: PassEvent, second: PassEvent
) -> None:
    leased.write([first], [WEBHOOK])
    leased.write([second], [WEBHOOK])
    assert find_ids(leased, PassQuery()) == [first.passed.id]
    assert _count(url, deliveries) == 1


def test_the_new_owner_closes_what_the_former_has_told(leased: PassStore, url: str) -> None:
    leased.write([seen("old", -5, OLD, kind="agreed")], [WEBHOOK])
    leased.write([seen("new", 5, NEW, kind="agreed")], [WEBHOOK])
    leased.write([seen("new", 5, NEW)], [WEBHOOK])
    page = leased.search(PassQuery(), REQUESTER).passes
    assert [(one.id, one.progress) for one in page] == [("old", "closed")]
    assert page[0].first_seen_s == TAKEN_S - 5
    assert _count(url, deliveries) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(seen("a", -5, OLD), seen("b", 5, NEW, text="B2"), id="another-text"),
        pytest.param(seen("a", -90, OLD), seen("b", 5, NEW), id="long-before"),
        pytest.param(seen("a", 2, NEW), seen("b", 9, NEW), id="twice-at-the-new-owner"),
        pytest.param(seen("a", -5, OLD), seen("b", 60, NEW), id="long-after"),
        pytest.param(seen("a", -5, OLD, text=""), seen("b", 5, NEW, text=""), id="unread"),
    ],
)
def test_other_vehicles_stay_apart(leased: PassStore, first: PassEvent, second: PassEvent) -> None:
    leased.write([first], [])
    leased.write([second], [])
    assert sorted(find_ids(leased, PassQuery())) == ["a", "b"]
