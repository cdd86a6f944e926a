"""Rows are deleted only when they are old by both clocks, the wall clock and the store's."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.login_attempts import AttemptLimit
from plate_cameras.store.people.people import Person
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import (
    camera_states,
    camera_stills,
    deliveries,
    gate_openings,
    pass_changes,
    passes,
    searches,
)
from plate_cameras.store.tables.store_clock import StoreClock
from plate_cameras.store.writing.live_tables import CameraState, Still
from tests.plate_cameras.store.stored_events import DAY_S, NOW_S, REQUESTER, WEBHOOK, make_event

HOUR_S = 3600.0
STEPS = (HOUR_S, 400 * DAY_S)
TABLES = (passes, deliveries, gate_openings, searches, pass_changes, camera_states, camera_stills)
OPENING = GateOpening("north", "gate", "", "A123BC77", "", "", "opened", "", NOW_S)
ANNA = AttemptLimit("name anna", 3, 10)


@dataclass
class Clocks:
    """The clocks of a machine, which a test moves."""

    wall_s: float = NOW_S
    steady_s: float = 1000.0

    def run(self, seconds: float) -> None:
        self.wall_s += seconds
        self.steady_s += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def stepped(url: str, tmp_path: Path, clocks: Clocks) -> Iterator[PassStore]:
    """Return a store whose two clocks a test moves."""

    def make_clock(database: Database) -> StoreClock:
        wall, steady = (lambda: clocks.wall_s), (lambda: clocks.steady_s)
        return StoreClock(database, wall=wall, steady=steady, boot="boot")

    settings = Store(url=url, audit_days=30)
    opened = open_store(settings, tmp_path, clock=lambda: clocks.wall_s, kept=make_clock)
    yield opened
    opened.close()


def fill(store: PassStore, now_s: float) -> None:
    """Write at least one row to each table that retention deletes from."""
    store.write([make_event(f"{now_s}", first_seen_s=now_s - 2)], [WEBHOOK])
    store.outbox.confirm(store.outbox.claim("webhook", 9, now_s, 60), now_s)
    store.openings.write([replace(OPENING, id=f"{now_s}", requested_s=now_s)])
    store.search(PassQuery(), REQUESTER)
    store.live.write_states([CameraState("gate", "w", now_s, {})])
    store.live.write_stills([Still("gate", now_s, b"still")])


def count_rows(url: str) -> dict[str, int]:
    database = Database(url)
    with database.reading() as connection:
        counts = {
            table.name: connection.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar_one()
            for table in TABLES
        }
    database.close()
    return counts


ALL = dict.fromkeys((table.name for table in TABLES), 1)
NONE = dict.fromkeys((table.name for table in TABLES), 0)


@pytest.mark.parametrize("step_s", [*STEPS, *(-step for step in STEPS)])
def test_a_step_after_rows_were_written_deletes_nothing(
    stepped: PassStore, clocks: Clocks, url: str, step_s: float
) -> None:
    stepped.delete_expired(clocks.wall_s)
    fill(stepped, clocks.wall_s)
    clocks.run(HOUR_S / 2)
    stepped.delete_expired(clocks.wall_s)
    clocks.wall_s += step_s
    stepped.delete_expired(clocks.wall_s)

    assert count_rows(url) == ALL


@pytest.mark.parametrize("step_s", STEPS)
def test_rows_that_were_written_while_the_clock_was_behind_stay(
    stepped: PassStore, clocks: Clocks, url: str, step_s: float
) -> None:
    clocks.wall_s -= step_s
    fill(stepped, clocks.wall_s)
    stepped.delete_expired(clocks.wall_s)
    clocks.wall_s += step_s
    clocks.run(HOUR_S / 2)
    stepped.delete_expired(clocks.wall_s)

    assert count_rows(url) == ALL


def test_all_is_deleted_when_it_is_old_by_both(
    stepped: PassStore, clocks: Clocks, url: str
) -> None:
    fill(stepped, clocks.wall_s)
    stepped.delete_expired(clocks.wall_s)
    clocks.run(30 * DAY_S - 60)
    stepped.delete_expired(clocks.wall_s)
    kept = count_rows(url)
    assert (kept["passes"], kept["gate_openings"], kept["searches"]) == (1, 1, 1)
    assert (kept["deliveries"], kept["pass_changes"]) == (0, 0)

    clocks.run(120)
    stepped.delete_expired(clocks.wall_s)
    assert count_rows(url) == NONE


def test_a_clock_that_is_set_ahead_deletes_nothing_before_its_time(
    stepped: PassStore, clocks: Clocks, url: str
) -> None:
    fill(stepped, clocks.wall_s)
    stepped.delete_expired(clocks.wall_s)
    clocks.run(29 * DAY_S)
    clocks.wall_s += 400 * DAY_S
    stepped.delete_expired(clocks.wall_s)
    kept = count_rows(url)

    assert (kept["passes"], kept["gate_openings"], kept["searches"]) == (1, 1, 1)


def test_a_clock_that_is_behind_keeps_what_it_calls_young(
    stepped: PassStore, clocks: Clocks, url: str
) -> None:
    fill(stepped, clocks.wall_s)
    stepped.delete_expired(clocks.wall_s)
    clocks.run(31 * DAY_S)
    clocks.wall_s -= 20 * DAY_S
    stepped.delete_expired(clocks.wall_s)

    assert count_rows(url)["passes"] == 1


def test_a_delivery_that_is_replayed_is_finished_anew(
    stepped: PassStore, clocks: Clocks, url: str
) -> None:
    fill(stepped, clocks.wall_s)
    clocks.run(6 * DAY_S)
    stepped.outbox.replay("webhook", 0.0, clocks.wall_s)
    stepped.outbox.confirm(stepped.outbox.claim("webhook", 9, clocks.wall_s, 60), clocks.wall_s)
    clocks.run(2 * DAY_S)
    clocks.wall_s += 40 * DAY_S
    stepped.delete_expired(clocks.wall_s)

    assert count_rows(url)["deliveries"] == 1


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S, 40 * DAY_S, -40 * DAY_S])
def test_no_login_waits_longer_than_it_is_told(
    stepped: PassStore, clocks: Clocks, step_s: float
) -> None:
    waits = [stepped.login_attempts.take([ANNA]) for _ in range(4)]
    clocks.wall_s += step_s
    assert waits == [0, 0, 0, 10]
    assert stepped.login_attempts.take([ANNA]) == pytest.approx(10)
    clocks.run(10.1)
    assert stepped.login_attempts.take([ANNA]) == 0


def test_no_session_lives_longer_though_the_clock_goes_back(
    stepped: PassStore, clocks: Clocks
) -> None:
    stepped.people.add(Person("anna", "viewer"), "hash", REQUESTER)
    assert stepped.sessions.begin("anna", "hash", "token", 12 * HOUR_S)
    clocks.run(11 * HOUR_S)
    clocks.wall_s -= 40 * DAY_S
    assert stepped.sessions.find("token") is not None
    clocks.run(HOUR_S)

    assert stepped.sessions.find("token") is None


def test_a_session_ends_while_the_machine_is_off(stepped: PassStore, clocks: Clocks) -> None:
    stepped.people.add(Person("anna", "viewer"), "hash", REQUESTER)
    stepped.sessions.begin("anna", "hash", "token", 12 * HOUR_S)
    clocks.wall_s += 13 * HOUR_S  # the store's clock does not know yet that it was off

    assert stepped.sessions.find("token") is None
