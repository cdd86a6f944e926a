"""Events of watchers that have lost a camera, in both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.passes import LeaseClaim, PassEvent
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
    read_rows,
    with_pictures,
)
from tests.waiting import until

TAKEN_S = NOW_S - 100
CLAIM, NEXT, LAST = (LeaseClaim(epoch, True) for epoch in (1, 2, 3))
DOUBTFUL = LeaseClaim(1, False)
KINDS = ("closed", "agreed")


def see(
    pass_id: str, at_s: float, claim: LeaseClaim | None, kind: Kind = "closed", text: str = "A1"
) -> PassEvent:
    """Return an event of a pass of one second; `at_s` counts from the change of owner."""
    return replace(make_event(pass_id, text, kind, first_seen_s=TAKEN_S + at_s), claim=claim)


def read_as(event: PassEvent, *texts: str) -> PassEvent:
    """Return an event with these readings of its frames."""
    look = event.vehicle_pass.observations[0]
    looks = tuple(replace(look, plate=make_plate(text)) for text in texts)
    return replace(event, vehicle_pass=replace(event.vehicle_pass, observations=looks))


OLD, NEW = see("old", -5, CLAIM), see("new", 5, NEXT)
OLD_AGREED, NEW_AGREED = see("old", -5, CLAIM, "agreed"), see("new", 4, NEXT, "agreed")
AS_B2 = see("new", 5, NEXT, text="B2")


@pytest.fixture
def leased_store(store: PassStore, database: Database) -> PassStore:
    """Return a store whose camera changed hands at TAKEN_S."""
    row = {"camera": "gate", "watcher": "new", "epoch": 2, "expires_s": NOW_S}
    execute(database, sa.insert(camera_leases).values({**row, "taken_s": TAKEN_S}))
    return store


def execute(database: Database, statement: sa.Insert | sa.Update) -> None:
    with database.writing() as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("claim", "ids"),
    [
        pytest.param(NEXT, ["a"], id="owner"),
        pytest.param(LeaseClaim(2, False), ["a"], id="owner-who-was-not-sure"),
        pytest.param(CLAIM, ["a"], id="former-owner-before-the-change"),
        pytest.param(DOUBTFUL, [], id="former-owner-after-it"),
        pytest.param(None, ["a"], id="not-shared"),
    ],
)
def test_only_what_the_owner_cannot_have_seen_is_stored_of_others(
    leased_store: PassStore, database: Database, claim: LeaseClaim | None, ids: list[str]
) -> None:
    leased_store.write([see("a", -300, claim)], [WEBHOOK])
    assert find_ids(leased_store, PassQuery()) == ids
    assert leased_store.writer.pass_writer.fence.rejected == 1 - len(ids)
    assert len(read_rows(database, deliveries.c.id)) == len(ids)
    assert len(read_rows(database, picture_removals.c.digest)) == 2 - 2 * len(ids)


def test_a_camera_without_a_lease_is_not_fenced(store: PassStore) -> None:
    store.write([see("a", 0, DOUBTFUL)], [])
    assert find_ids(store, PassQuery()) == ["a"]
    events, no_connection = address([see("a", 0, None)], [], NOW_S), None
    assert LeaseFence().admit(no_connection, events) == events  # type: ignore[arg-type]


EVENTS = {
    "old": OLD,
    "old+": OLD_AGREED,
    "old=A128BC77": see("old", -5, CLAIM, text="A128BC77"),
    "new": see("new", 4, NEXT),
    "new+": NEW_AGREED,
    "new+=A128BC77": see("new", 4, NEXT, "agreed", "A128BC77"),
    "new=A128BC77": see("new", 4, NEXT, text="A128BC77"),
    "new=B2": AS_B2,
    "updated": see("new", 4, NEXT, "updated"),
    "not-newer": see("new", -11, NEXT),
    "later": see("new", 5, NEXT),
    "first": see("first", 2, NEXT),
    "second": see("second", 14, NEXT),
    "unread": see("old", -5, CLAIM, text=""),
    "unread-too": see("new", 5, NEXT, text=""),
}
"""Events of the former and of the new owner; with `+` they are `agreed`."""
CHANGED = {"text": "A128BC77", "progress": "closed", "first_seen_s": TAKEN_S - 5}
STAYED = {"text": "A1", "progress": "agreed"}


@pytest.mark.parametrize(
    ("writes", "ids", "sent_names", "state"),
    [
        ("old | new", "old", "old", {}),
        ("new | old", "new", "new", {}),
        ("old | not-newer", "old", "old", {}),
        ("old | new=B2", "new old", "old new", {}),
        ("first | second", "first second", "first second", {}),
        ("unread | unread-too", "new old", "old new", {}),
        # The text changes at the end.
        ("old+ new+ new=A128BC77", "old", "old+ old", CHANGED),
        ("old+ | new+ | new=A128BC77", "old", "old+ old", CHANGED),
        # A pass that was told of gets the text of another.
        ("old+ | new+=A128BC77 | new", "new old", "old+ new+ new", {}),
        # Only the later owner tells of it from then on.
        ("new+ | old+ | old=A128BC77", "new", "new+", STAYED),
        ("new+ | old+ | old=A128BC77 | new", "new", "new+ new", {}),
        ("old+ | new+ | old", "old", "old+", STAYED),
        # A pass that was closed is told of no more, though its vehicle was seen a moment longer.
        ("old+ old | new+ updated later", "old", "old+ old", {"last_seen_s": TAKEN_S + 6}),
        # A vehicle came twice; the former owner had seen its first visit, too.
        ("old | first second", "old second", "old second", {}),
    ],
)
def test_a_vehicle_that_both_owners_have_seen_is_one_pass(
    leased_store: PassStore,
    database: Database,
    writes: str,
    ids: str,
    sent_names: str,
    state: dict[str, object],
) -> None:
    for names in writes.split(" | "):
        leased_store.write([EVENTS[name] for name in names.split()], [WEBHOOK])
    passes = {
        vehicle_pass.id: vehicle_pass
        for vehicle_pass in leased_store.search(PassQuery(), REQUESTER).passes
    }
    assert sorted(passes) == ids.split()
    delivery_ids = [id_ for _, id_ in read_rows(database, deliveries.c.number, deliveries.c.id)]
    names = (name.rstrip("+") + "_" + KINDS[name[-1] == "+"] for name in sent_names.split())
    assert delivery_ids == [f"{name}_0" for name in names]
    assert state.items() <= vars(passes[ids.split()[0]]).items()


HOURS_S = 10800


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        pytest.param(see("a", -25, CLAIM), NEW, "a", id="29-s-before"),
        pytest.param(see("a", -26, CLAIM), NEW, "a new", id="30-s-before"),
        pytest.param(NEW, see("a", -25, CLAIM), "new", id="29-s-before-told-later"),
        pytest.param(NEW, see("a", -26, CLAIM), "a new", id="30-s-before-told-later"),
        pytest.param(see("a", 5 - HOURS_S, CLAIM, "agreed"), NEW, "a", id="open-for-3-h"),
        pytest.param(see("a", 4 - HOURS_S, CLAIM, "agreed"), NEW, "a new", id="open-for-longer"),
        pytest.param(see("a", -86405, CLAIM), see("b", -86395, NEXT), "a", id="clock-behind"),
        pytest.param(see("a", 40, CLAIM), see("b", 50, NEXT), "a", id="clock-ahead"),
        pytest.param(read_as(OLD, "A1"), read_as(AS_B2, "A1", "A1", "B2"), "old", id="2-new-texts"),
        pytest.param(read_as(OLD, "A1"), read_as(AS_B2, "A1", "B2"), "new old", id="1-new-text"),
        pytest.param(read_as(OLD, "A1", "B2", "B2"), read_as(AS_B2, "B2"), "old", id="2-old-texts"),
        pytest.param(read_as(OLD, "A1", "B2"), read_as(AS_B2, "B2"), "new old", id="1-old-text"),
    ],
)
def test_a_vehicle_may_be_missed_for_a_while_and_two_frames_show_its_text(
    leased_store: PassStore, first: PassEvent, second: PassEvent, ids: str
) -> None:
    leased_store.write([first], [])
    leased_store.write([second], [])
    assert sorted(find_ids(leased_store, PassQuery())) == ids.split()


def test_a_second_id_outlives_a_restart(
    leased_store: PassStore, url: str, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    leased_store.write([OLD_AGREED], [])
    leased_store.write([NEW_AGREED], [])
    other = opening(url, tmp_path / "other", clock=lambda: NOW_S)
    other.write([see("new", 25, NEXT, text="B2")], [])
    assert find_ids(other, PassQuery()) == ["old"]


def test_a_pass_and_its_gates_are_found_by_both_ids_until_it_is_deleted(
    leased_store: PassStore, database: Database
) -> None:
    leased_store.write([see("far", -20, CLAIM), see("old", -8, CLAIM)], [])
    leased_store.write([NEW], [])
    assert leased_store.get("new", REQUESTER).found_pass.id == "old"  # the nearest in time
    opening = GateOpening("barrier", "gate", "", "B2", "", "B2", "opened", "", TAKEN_S)
    of_passes = ("old", "new", "another")
    leased_store.openings.write(
        [replace(opening, id=pass_id, pass_id=pass_id) for pass_id in of_passes]
    )
    page = leased_store.openings.page(EVERYTHING, pass_id="old")
    assert sorted(opening.pass_id for opening in page.openings) == ["new", "old"]

    leased_store.delete_plate("A1", REQUESTER)
    assert read_rows(database, joined_passes.c.id) == []
    assert read_rows(database, erased_passes.c.id) == [("far",), ("new",), ("old",)]


def test_a_vehicle_that_three_owners_have_seen_is_one_pass(
    leased_store: PassStore, database: Database
) -> None:
    leased_store.write([see("a", -5, CLAIM, "agreed")], [])
    leased_store.write([see("b", 5, NEXT, "agreed")], [])
    execute(database, sa.update(camera_leases).values(epoch=3))
    leased_store.write([see("c", 15, LAST, "agreed")], [])
    assert find_ids(leased_store, PassQuery()) == ["a"]
    leased_store.write([see("b", 5, NEXT)], [WEBHOOK])  # the last owner still tells of it
    assert find_ids(leased_store, PassQuery()) == ["a"]
    assert read_rows(database, deliveries.c.id) == []


@pytest.mark.parametrize(
    ("writes", "count", "crop"),
    [
        pytest.param([[OLD], [see("new", -11, NEXT)]], 2, b"crop old", id="nothing newer"),
        pytest.param(
            [[NEW_AGREED], [OLD_AGREED], [with_pictures(OLD, b"late", b"frame old")]],
            3,
            b"crop new",
            id="told late by the former owner",
        ),
        pytest.param(
            [[OLD_AGREED, with_pictures(see("old", 5, DOUBTFUL), b"another")]],
            2,
            b"crop old",
            id="a later event is rejected",
        ),
    ],
)
def test_pictures_that_no_pass_takes_are_removed_and_the_others_stay(
    leased_store: PassStore, writes: list[list[PassEvent]], count: int, crop: bytes
) -> None:
    for events in writes:
        leased_store.write(events, [])
    assert leased_store.delete_expired(NOW_S).pictures == count
    (found_pass,) = leased_store.search(PassQuery(), REQUESTER).passes
    assert leased_store.picture(found_pass.crop or "") == crop


@pytest.mark.server
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_two_owners_who_write_at_once_make_one_pass(
    url: str, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    """The new owner's transaction waits until the former owner's is committed."""
    stores = [opening(url, tmp_path / name) for name in ("old", "new")]
    database = stores[0].writer.database
    row = {"camera": "bridge", "watcher": "new", "epoch": 2, "taken_s": TAKEN_S, "expires_s": 0.0}
    execute(database, sa.insert(camera_leases).values(row))
    pair = [
        replace(event, vehicle_pass=replace(event.vehicle_pass, camera="bridge"))
        for event in (OLD, NEW)
    ]
    with ThreadPoolExecutor(1) as thread:
        with database.writing() as connection:
            stores[0].writer.pass_writer.write(connection, address(pair[:1], [], NOW_S))
            writing = thread.submit(stores[1].write, pair[1:], [])
            until(lambda: is_waiting(database), "a writer that waits for another")
        writing.result(20)
    assert find_ids(stores[0], PassQuery(cameras=("bridge",))) == ["old"]


def is_waiting(database: Database) -> bool:
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with database.reading() as connection:
        return bool(connection.exec_driver_sql(locks).scalar_one())
