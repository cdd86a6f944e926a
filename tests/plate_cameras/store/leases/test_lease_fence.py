"""Events of watchers that have lost a camera, in both databases."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Store
from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.leases.lease_fence import LeaseFence
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import (
    camera_leases,
    deliveries,
    erased_passes,
    joined_passes,
    picture_removals,
)
from plate_cameras.store.writing.addressed_events import address
from tests.plate_cameras.store.stored_events import (
    NOW_S,
    REQUESTER,
    WEBHOOK,
    Kind,
    find_ids,
    make_event,
    make_plate,
)
from tests.waiting import until

TAKEN_S = NOW_S - 100
OLD, NEW = LeaseClaim(1, True), LeaseClaim(2, True)
DOUBTFUL = LeaseClaim(1, False)


def seen(
    pass_id: str, at_s: float, claim: LeaseClaim | None, *, kind: Kind = "closed", text: str = "A1"
) -> PassEvent:
    """Return an event of a pass of one second; `at_s` counts from the change of owner."""
    return replace(make_event(pass_id, text, kind, first_seen_s=TAKEN_S + at_s), claim=claim)


@pytest.fixture
def leased(store: PassStore, url: str) -> PassStore:
    """Return a store whose camera changed hands at TAKEN_S."""
    row = {"camera": "gate", "watcher": "new", "epoch": 2}
    _execute(url, sa.insert(camera_leases).values({**row, "taken_s": TAKEN_S, "expires_s": NOW_S}))
    return store


def _execute(url: str, statement: sa.Insert | sa.Update) -> None:
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


def test_events_under_no_lease_need_no_look_at_the_database() -> None:
    events = address([seen("a", 0, None)], [], NOW_S)
    unused: Any = None
    assert LeaseFence().admit(unused, events) == events


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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(seen("a", -5, OLD), seen("b", 5, NEW, text="B2"), id="another-text"),
        pytest.param(seen("a", 2, NEW), seen("b", 9, NEW), id="twice-at-the-new-owner"),
        pytest.param(seen("a", -5, OLD, text=""), seen("b", 5, NEW, text=""), id="unread"),
    ],
)
def test_other_vehicles_stay_apart(leased: PassStore, first: PassEvent, second: PassEvent) -> None:
    leased.write([first], [])
    leased.write([second], [])
    assert sorted(find_ids(leased, PassQuery())) == ["a", "b"]


def ids_and_deliveries(store: PassStore, url: str) -> tuple[list[str], list[str]]:
    database = Database(url)
    with database.reading() as connection:
        found = connection.execute(sa.select(deliveries.c.id).order_by(deliveries.c.number))
        told = list(found.scalars())
    database.close()
    return find_ids(store, PassQuery()), told


@pytest.mark.parametrize("batches", [1, 3], ids=["one-write", "three-writes"])
def test_a_pass_keeps_its_id_when_its_text_changes(
    leased: PassStore, url: str, batches: int
) -> None:
    events = [
        seen("old", -5, OLD, kind="agreed"),
        seen("new", 4, NEW, kind="agreed"),
        seen("new", 4, NEW, text="A128BC77"),
    ]
    step = 3 // batches
    leased.write(events[:step], [WEBHOOK])
    leased.write(events[step : 2 * step], [WEBHOOK])
    leased.write(events[2 * step :], [WEBHOOK])
    assert ids_and_deliveries(leased, url) == (["old"], ["old_agreed_0", "old_closed_0"])
    (found,) = leased.search(PassQuery(), REQUESTER).passes
    assert (found.text, found.progress, found.first_seen_s) == ("A128BC77", "closed", TAKEN_S - 5)


def test_a_pass_that_was_told_of_keeps_its_id_when_its_text_becomes_that_of_another(
    leased: PassStore, url: str
) -> None:
    leased.write([seen("old", -5, OLD, kind="agreed")], [WEBHOOK])
    leased.write([seen("new", 4, NEW, kind="agreed", text="A128BC77")], [WEBHOOK])
    leased.write([seen("new", 4, NEW, text="A1")], [WEBHOOK])
    ids, told = ids_and_deliveries(leased, url)
    assert sorted(ids) == ["new", "old"]
    assert told == ["old_agreed_0", "new_agreed_0", "new_closed_0"]


def test_late_events_of_the_former_owner_go_to_the_pass_that_has_its_vehicle(
    leased: PassStore, url: str
) -> None:
    leased.write([seen("new", 5, NEW, kind="agreed")], [WEBHOOK])
    leased.write([seen("old", -5, OLD, kind="agreed")], [WEBHOOK])
    leased.write([seen("old", -5, OLD, text="A128BC77")], [WEBHOOK])
    assert ids_and_deliveries(leased, url) == (["new"], ["new_agreed_0"])
    (found,) = leased.search(PassQuery(), REQUESTER).passes
    assert (found.text, found.progress) == ("A1", "agreed")  # the new owner still tells of it
    leased.write([seen("new", 5, NEW)], [WEBHOOK])
    assert ids_and_deliveries(leased, url) == (["new"], ["new_agreed_0", "new_closed_0"])


def test_a_second_id_outlives_a_restart(leased: PassStore, url: str, tmp_path: Path) -> None:
    leased.write([seen("old", -5, OLD, kind="agreed")], [])
    leased.write([seen("new", 5, NEW, kind="agreed")], [])
    other = open_store(Store(url=url, blur="none"), tmp_path / "other", clock=lambda: NOW_S)
    other.write([seen("new", 25, NEW, text="B2")], [])
    assert find_ids(other, PassQuery()) == ["old"]
    other.close()


def test_a_pass_and_its_gates_are_found_by_both_ids(leased: PassStore) -> None:
    leased.write([seen("old", -5, OLD)], [])
    leased.write([seen("new", 5, NEW)], [])
    assert leased.get("new", REQUESTER).found.id == "old"
    names: dict[str, Any] = {
        "gate": "barrier",
        "camera": "gate",
        "text": "A1",
        "list": "",
        "entry_text": "A1",
    }
    what = {**names, "outcome": "opened", "reason": "", "requested_s": TAKEN_S}
    of_passes = [GateOpening(**what, pass_id=pass_id) for pass_id in ("old", "new", "another")]
    leased.openings.write(of_passes)
    page = leased.openings.page(EVERYTHING, pass_id="old")
    assert sorted(opening.pass_id for opening in page.openings) == ["new", "old"]


def test_a_deletion_forgets_the_second_id_and_keeps_both_as_deleted(
    leased: PassStore, url: str
) -> None:
    leased.write([seen("old", -5, OLD)], [])
    leased.write([seen("new", 5, NEW)], [])
    assert _count(url, joined_passes) == 1
    leased.delete_plate("A1", REQUESTER)
    assert (_count(url, joined_passes), _count(url, erased_passes)) == (0, 2)


def test_a_pass_that_was_closed_is_told_of_no_more(leased: PassStore, url: str) -> None:
    """The former owner closes the pass; the new owner has seen the vehicle a moment longer."""
    leased.write([seen("old", -5, OLD, kind="agreed"), seen("old", -5, OLD)], [WEBHOOK])
    later = [seen("new", 5, NEW, kind=kind) for kind in ("agreed", "updated", "closed")]
    leased.write(later, [WEBHOOK])
    assert ids_and_deliveries(leased, url) == (["old"], ["old_agreed_0", "old_closed_0"])
    (found,) = leased.search(PassQuery(), REQUESTER).passes
    assert found.last_seen_s == TAKEN_S + 6


def test_two_passes_of_one_owner_do_not_become_one(leased: PassStore) -> None:
    """A vehicle came twice; the former owner had seen its first visit, too."""
    leased.write([seen("old", -5, OLD)], [])
    leased.write([seen("first", 5, NEW), seen("second", 14, NEW)], [])
    assert sorted(find_ids(leased, PassQuery())) == ["old", "second"]


@pytest.mark.parametrize("ahead_s", [-86400.0, 45.0])
def test_the_clock_of_a_camera_does_not_part_a_vehicle(leased: PassStore, ahead_s: float) -> None:
    leased.write([seen("old", ahead_s - 5, OLD)], [])
    leased.write([seen("new", ahead_s + 5, NEW)], [])
    assert find_ids(leased, PassQuery()) == ["old"]


def test_a_vehicle_that_three_owners_have_seen_is_one_pass(leased: PassStore, url: str) -> None:
    leased.write([seen("a", -5, OLD, kind="agreed")], [])
    leased.write([seen("b", 5, NEW, kind="agreed")], [])
    _execute(url, sa.update(camera_leases).values(epoch=3))
    leased.write([seen("c", 15, LeaseClaim(3, True), kind="agreed")], [])
    assert find_ids(leased, PassQuery()) == ["a"]
    leased.write([seen("b", 5, NEW)], [WEBHOOK])  # the last owner still tells of it
    assert ids_and_deliveries(leased, url) == (["a"], [])


def test_a_former_owner_tells_no_more_of_a_pass_that_the_next_one_continues(
    leased: PassStore, url: str
) -> None:
    leased.write([seen("old", -5, OLD, kind="agreed")], [WEBHOOK])
    leased.write([seen("new", 5, NEW, kind="agreed")], [WEBHOOK])
    leased.write([seen("old", -5, OLD)], [WEBHOOK])
    assert ids_and_deliveries(leased, url) == (["old"], ["old_agreed_0"])
    assert leased.get("new", REQUESTER).found.progress == "agreed"


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        pytest.param(seen("a", -25, OLD), seen("b", 5, NEW), ["a"], id="29-s-before"),
        pytest.param(seen("a", -26, OLD), seen("b", 5, NEW), ["a", "b"], id="30-s-before"),
        pytest.param(seen("b", 5, NEW), seen("a", -25, OLD), ["b"], id="29-s-before-told-later"),
        pytest.param(
            seen("b", 5, NEW), seen("a", -26, OLD), ["a", "b"], id="30-s-before-told-later"
        ),
        pytest.param(
            seen("a", 5 - 10800, OLD, kind="agreed"), seen("b", 5, NEW), ["a"], id="open-for-3-h"
        ),
        pytest.param(
            seen("a", 4 - 10800, OLD, kind="agreed"),
            seen("b", 5, NEW),
            ["a", "b"],
            id="open-for-more-than-3-h",
        ),
    ],
)
def test_a_vehicle_may_be_missed_for_half_a_minute_or_stand_for_three_hours(
    leased: PassStore, first: PassEvent, second: PassEvent, ids: list[str]
) -> None:
    leased.write([first], [])
    leased.write([second], [])
    assert sorted(find_ids(leased, PassQuery())) == ids


def test_of_two_passes_the_nearest_in_time_is_that_of_the_vehicle(leased: PassStore) -> None:
    leased.write([seen("far", -20, OLD), seen("near", -8, OLD)], [])
    leased.write([seen("new", 5, NEW)], [])
    assert leased.get("new", REQUESTER).found.id == "near"


def read_as(event: PassEvent, *texts: str) -> PassEvent:
    """Return an event with these readings of its frames."""
    look = event.passed.observations[0]
    looks = tuple(replace(look, plate=make_plate(text)) for text in texts)
    return replace(event, passed=replace(event.passed, observations=looks))


@pytest.mark.parametrize(
    ("of_old", "of_new", "ids"),
    [
        pytest.param(["A1"], ["A1", "A1", "B2"], ["old"], id="two-frames-of-the-new-pass"),
        pytest.param(["A1"], ["A1", "B2"], ["new", "old"], id="one-frame-of-the-new-pass"),
        pytest.param(["A1", "B2", "B2"], ["B2"], ["old"], id="two-frames-of-the-old-pass"),
        pytest.param(["A1", "B2"], ["B2"], ["new", "old"], id="one-frame-of-the-old-pass"),
    ],
)
def test_a_text_that_two_frames_show_is_a_text_of_the_vehicle(
    leased: PassStore, of_old: list[str], of_new: list[str], ids: list[str]
) -> None:
    leased.write([read_as(seen("old", -5, OLD), *of_old)], [])
    leased.write([read_as(seen("new", 5, NEW, text="B2"), *of_new)], [])
    assert sorted(find_ids(leased, PassQuery())) == ids


def test_pictures_that_the_pass_of_another_owner_does_not_take_are_removed(
    leased: PassStore,
) -> None:
    leased.write([seen("old", -5, OLD)], [])
    leased.write([seen("new", -11, NEW)], [])  # it tells nothing newer
    assert leased.delete_expired(NOW_S).pictures == 2
    found = leased.get("new", REQUESTER).found
    assert leased.picture(found.crop or "") == b"crop old"


def test_pictures_of_what_a_former_owner_tells_late_are_removed(leased: PassStore) -> None:
    leased.write([seen("new", 5, NEW, kind="agreed")], [])
    leased.write([seen("old", -5, OLD, kind="agreed")], [])
    leased.write([pictured(seen("old", -5, OLD))], [])
    assert leased.delete_expired(NOW_S).pictures == 3


def test_pictures_of_what_is_written_are_kept_when_a_later_event_is_rejected(
    leased: PassStore,
) -> None:
    leased.write([seen("a", -5, OLD, kind="agreed"), pictured(seen("a", 5, DOUBTFUL))], [])
    found = leased.get("a", REQUESTER).found
    assert leased.picture(found.crop or "") == b"crop a"


def pictured(event: PassEvent) -> PassEvent:
    best = replace(event.passed.best, crop_jpeg=b"another crop")
    return replace(event, passed=replace(event.passed, best=best))


@pytest.mark.server
def test_two_owners_who_write_at_once_make_one_pass(shared_url: str, tmp_path: Path) -> None:
    """The new owner's transaction waits until the former owner's is committed."""
    stores = [open_store(Store(url=shared_url), tmp_path / one) for one in ("old", "new")]
    row = {"camera": "bridge", "watcher": "new", "epoch": 2, "taken_s": TAKEN_S, "expires_s": 0.0}
    _execute(shared_url, sa.insert(camera_leases).values(row))
    pair = [seen("first", -5, OLD), seen("second", 5, NEW)]
    pair = [replace(one, passed=replace(one.passed, camera="bridge")) for one in pair]
    database = Database(shared_url)
    with ThreadPoolExecutor(1) as thread:
        with database.writing() as connection:
            stores[0].writer.rows.write(connection, address(pair[:1], [], NOW_S))
            writing = thread.submit(stores[1].write, pair[1:], [])
            until(lambda: is_waiting(database), "a writer that waits for another")
        writing.result(20)
    assert find_ids(stores[0], PassQuery(cameras=("bridge",))) == ["first"]
    stores[0].close()
    stores[1].close()
    database.close()


def is_waiting(database: Database) -> bool:
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with database.reading() as connection:
        return bool(connection.exec_driver_sql(locks).scalar_one())
