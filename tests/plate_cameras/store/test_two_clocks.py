"""Deletions, deliveries, logins and sessions while the wall clock is set."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from plate_cameras.sinks.claims import GIVE_UP_S, MIN_ATTEMPTS
from plate_cameras.sinks.sink_queue import LEASE_S, SinkQueue
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.login_attempts import AttemptLimit
from plate_cameras.store.people.people import Person
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import METADATA
from plate_cameras.store.writing.live_tables import CameraState, Still
from tests.plate_cameras.sinks.receivers import AWAY, ScriptedReceiver
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    REQUESTER,
    WEBHOOK,
    MachineClocks,
    make_event,
    read_rows,
)

HOUR_S = 3600.0
MONTH = "passes gate_openings searches"
WEEK = "deliveries pass_changes"
ALL = f"{MONTH} {WEEK} camera_states camera_stills"
STEPS = (HOUR_S, -HOUR_S, 40 * DAY_S, -40 * DAY_S)
OPENING = GateOpening("north", "gate", "", "A123BC77", "", "", "opened", "", NOW_S)
ANNA = AttemptLimit("name anna", 3, 10)
HALF_AN_HOUR = (HOUR_S / 2, 0.0)


@pytest.fixture
def clocks() -> MachineClocks:
    return MachineClocks()


@pytest.fixture
def stepped_store(url: str, clocks: MachineClocks, opening: Callable[..., PassStore]) -> PassStore:
    """Return a store whose two clocks a test moves."""
    make_clock = clocks.make_store_clock
    return opening(url, audit_days=30, clock=lambda: clocks.wall_s, make_clock=make_clock)


def fill(store: PassStore, now_s: float) -> None:
    """Write at least one row to each table that retention deletes from."""
    store.write([make_event(f"{now_s}", first_seen_s=now_s - 2)], [WEBHOOK])
    store.outbox.confirm(store.outbox.claim("webhook", 9, now_s, 60), now_s)
    store.openings.write([replace(OPENING, id=f"{now_s}", requested_s=now_s)])
    store.search(PassQuery(), REQUESTER)
    store.live.write_states([CameraState("gate", "w", now_s, {})])
    store.live.write_stills([Still("gate", now_s, b"still")])


def count_rows(database: Database, names: str) -> list[int]:
    tables = [METADATA.tables[name] for name in names.split()]
    return [len(read_rows(database, *table.primary_key)) for table in tables]


@pytest.mark.parametrize(
    ("behind_s", "moves", "kept_tables", "emptied_tables"),
    [
        *(
            pytest.param(0, [HALF_AN_HOUR, (0, step_s)], ALL, "", id=f"a step of {step_s}")
            for step_s in (HOUR_S, -HOUR_S, 400 * DAY_S, -400 * DAY_S)
        ),
        *(
            pytest.param(step_s, [(HOUR_S / 2, step_s)], ALL, "", id=f"written {step_s} behind")
            for step_s in (HOUR_S, 400 * DAY_S)
        ),
        pytest.param(0, [(30 * DAY_S - 60, 0)], MONTH, WEEK, id="young by both"),
        pytest.param(0, [(30 * DAY_S - 60, 0), (120, 0)], "", ALL, id="old by both"),
        pytest.param(0, [(29 * DAY_S, 400 * DAY_S)], MONTH, "", id="a clock is set ahead"),
        pytest.param(0, [(31 * DAY_S, -20 * DAY_S)], "passes", "", id="a clock is behind"),
    ],
)
def test_rows_are_deleted_when_they_are_old_by_both_clocks(
    stepped_store: PassStore,
    clocks: MachineClocks,
    database: Database,
    behind_s: float,
    moves: list[tuple[float, float]],
    kept_tables: str,
    emptied_tables: str,
) -> None:
    clocks.wall_s -= behind_s
    fill(stepped_store, clocks.wall_s)
    stepped_store.delete_expired(clocks.wall_s)
    for passed_s, step_s in moves:
        clocks.run(passed_s)
        clocks.wall_s += step_s
        stepped_store.delete_expired(clocks.wall_s)

    assert count_rows(database, kept_tables) == [1 for _ in kept_tables.split()]
    assert count_rows(database, emptied_tables) == [0 for _ in emptied_tables.split()]


def test_a_delivery_that_is_replayed_is_young_and_finished_anew(
    stepped_store: PassStore, clocks: MachineClocks, database: Database
) -> None:
    fill(stepped_store, clocks.wall_s)
    clocks.run(6 * DAY_S)
    assert stepped_store.outbox.replay("webhook", 0.0, stepped_store.clock.now_s()) == 1
    (again,) = stepped_store.outbox.claim("webhook", 9, clocks.wall_s, 60)
    assert again.created_s == NOW_S + 6 * DAY_S
    stepped_store.outbox.confirm([again], clocks.wall_s)
    clocks.run(2 * DAY_S)
    clocks.wall_s += 40 * DAY_S
    stepped_store.delete_expired(clocks.wall_s)

    assert count_rows(database, "deliveries") == [1]


@pytest.mark.parametrize("step_s", STEPS)
def test_no_login_waits_longer_than_it_is_told(
    stepped_store: PassStore, clocks: MachineClocks, step_s: float
) -> None:
    waits = [stepped_store.login_attempts.take([ANNA]) for _ in range(4)]
    clocks.wall_s += step_s
    assert waits == [0, 0, 0, 10]
    assert stepped_store.login_attempts.take([ANNA]) == pytest.approx(10)
    clocks.run(10.1)
    assert stepped_store.login_attempts.take([ANNA]) == 0


def test_a_session_ends_in_time_though_the_clock_goes_back_or_the_machine_is_off(
    stepped_store: PassStore, clocks: MachineClocks
) -> None:
    stepped_store.people.add(Person("anna", "viewer"), "hash", REQUESTER)
    assert stepped_store.sessions.begin("anna", "hash", "token", 12 * HOUR_S)
    clocks.run(11 * HOUR_S)
    clocks.wall_s -= 40 * DAY_S
    assert stepped_store.sessions.find("token") is not None
    clocks.run(HOUR_S)
    assert stepped_store.sessions.find("token") is None

    assert stepped_store.sessions.begin("anna", "hash", "another", 12 * HOUR_S)
    clocks.wall_s += 13 * HOUR_S  # the store's clock does not know yet that it was off
    assert stepped_store.sessions.find("another") is None


def deliver(store: PassStore, receiver: ScriptedReceiver) -> SinkQueue:
    queue = SinkQueue("webhook", receiver, store.outbox, store.clock.now_s)
    asyncio.run(queue.deliver_due())
    return queue


@pytest.mark.parametrize("step_s", STEPS)
def test_deliveries_pauses_and_leases_last_as_long_as_without_a_step(
    stepped_store: PassStore, clocks: MachineClocks, step_s: float
) -> None:
    stepped_store.write([make_event("claimed"), make_event("failed")], [WEBHOOK])
    receiver = ScriptedReceiver(AWAY)
    stepped_store.outbox.claim("webhook", 1, stepped_store.clock.now_s(), LEASE_S)
    deliver(stepped_store, receiver)
    clocks.wall_s += step_s
    stepped_store.write([make_event("after")], [WEBHOOK])
    for passed_s, ids in ((0, ["after"]), (5, ["failed"]), (LEASE_S - 5, ["claimed"])):
        clocks.run(passed_s)
        receiver.received_ids.clear()
        deliver(stepped_store, receiver)
        assert receiver.received_ids == [f"{name}_closed_0" for name in ids]


def test_a_step_makes_no_event_old_enough_to_be_given_up(
    stepped_store: PassStore, clocks: MachineClocks
) -> None:
    stepped_store.write([make_event("tried")], [WEBHOOK])
    for _ in range(MIN_ATTEMPTS):
        assert stepped_store.outbox.claim("webhook", 1, stepped_store.clock.now_s(), 0)
    clocks.wall_s += 40 * DAY_S
    assert deliver(stepped_store, ScriptedReceiver(AWAY)).status.abandoned == 0
    clocks.wall_s -= 80 * DAY_S
    clocks.run(GIVE_UP_S + 1)
    assert deliver(stepped_store, ScriptedReceiver(AWAY)).status.abandoned == 1
