"""Leases of cameras, in both databases."""

from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.leases.camera_leases import FORGOTTEN_S, CameraLeases, read_clock, share_of
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import camera_leases, watchers
from tests.plate_cameras.store.stored_events import read_column
from tests.virtual_time import Clock

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def leases(database: Database, clock: Clock) -> CameraLeases:
    """Return the leases from the view of one watcher's process."""
    return CameraLeases(database, clock=clock)


def set_clock(database: Database, seconds: float) -> None:
    """Shift all times of the database, as if its clock had been set back."""
    with database.writing() as connection:
        later = {name: camera_leases.c[name] + seconds for name in ("expires_s", "taken_s")}
        connection.execute(sa.update(camera_leases).values(later))
        connection.execute(sa.update(watchers).values(seen_s=watchers.c.seen_s + seconds))


def test_a_second_watcher_gets_what_the_first_gives_back(leases: CameraLeases) -> None:
    leases.hold("one", NAMES)
    assert leases.hold("two", NAMES).epochs == {}
    assert leases.hold("one", NAMES).quota == 3
    leases.give_back("one", ["d", "e"])
    assert leases.hold("two", NAMES).epochs == {"d": 2, "e": 2}
    assert leases.hold("one", NAMES).epochs == {"a": 1, "b": 1, "c": 1}
    leases.leave("one")
    holding = leases.hold("two", NAMES)
    assert ({*holding.epochs}, holding.quota) == ({*NAMES}, 5)


@pytest.mark.parametrize("step_s", [-40 * 86400.0, -3600.0, 0.0, 3600.0, 40 * 86400.0])
def test_only_cameras_of_a_watcher_that_died_are_taken_whatever_the_databases_clock_says(
    leases: CameraLeases, database: Database, clock: Clock, step_s: float
) -> None:
    leases.hold("one", NAMES)
    for _ in range(3):  # it renews
        assert leases.hold("two", NAMES).epochs == {}
        clock.now_s += leases.lease_s - 1
        assert leases.hold("one", NAMES).quota == 3
    leases.hold("two", NAMES)
    set_clock(database, step_s)
    assert leases.hold("two", NAMES).epochs == {}
    assert leases.hold("one", NAMES, takes=False).epochs == dict.fromkeys(NAMES, 1)
    assert leases.hold("two", NAMES).quota == 2
    clock.now_s += leases.lease_s - 0.1
    assert leases.hold("two", NAMES).epochs == {}
    clock.now_s += 0.1
    holding = leases.hold("two", NAMES)
    assert (holding.epochs, holding.quota) == (dict.fromkeys(NAMES, 2), 5)
    assert leases.hold("one", NAMES, takes=False).epochs == {}


def test_a_new_process_counts_from_when_it_saw_a_heartbeat(
    leases: CameraLeases, database: Database, clock: Clock
) -> None:
    leases.hold("one", NAMES)
    clock.now_s += 1e6
    other = CameraLeases(database, clock=clock)
    assert other.hold("two", NAMES).epochs == {}
    clock.now_s += leases.lease_s
    assert other.hold("two", NAMES).epochs == dict.fromkeys(NAMES, 2)


@pytest.mark.parametrize(
    "renewal",
    [
        pytest.param({"beat": camera_leases.c.beat + 1}, id="a-heartbeat"),
        pytest.param({"expires_s": camera_leases.c.expires_s + 1}, id="of-an-earlier-version"),
    ],
)
def test_any_renewal_counts(
    leases: CameraLeases, database: Database, clock: Clock, renewal: dict[str, Any]
) -> None:
    leases.hold("one", NAMES)
    leases.hold("two", NAMES)
    clock.now_s += leases.lease_s
    with database.writing() as connection:
        connection.execute(sa.update(camera_leases).values(renewal))
    assert leases.hold("two", NAMES).epochs == {}


def test_a_lease_that_expired_is_renewed_if_nobody_took_it(
    leases: CameraLeases, clock: Clock
) -> None:
    leases.hold("one", NAMES)
    clock.now_s += leases.lease_s + 1
    assert leases.hold("one", NAMES, takes=False).epochs == dict.fromkeys(NAMES, 1)


def test_a_watcher_that_was_not_seen_for_long_is_forgotten(
    leases: CameraLeases, database: Database, clock: Clock
) -> None:
    leases.hold("one", NAMES)
    leases.hold("two", NAMES)
    clock.now_s += FORGOTTEN_S - 1
    leases.hold("two", NAMES)
    assert read_column(database, watchers.c.name) == ["one", "two"]
    clock.now_s += 1
    leases.hold("two", NAMES)
    assert read_column(database, watchers.c.name) == ["two"]
    clock.now_s += FORGOTTEN_S
    assert leases.hold("two", NAMES).quota == 5


def test_what_was_given_back_is_taken_before_what_has_expired(
    leases: CameraLeases, clock: Clock
) -> None:
    leases.hold("one", NAMES)
    leases.hold("two", NAMES)
    clock.now_s += leases.lease_s
    leases.give_back("one", ["e"])
    assert leases.hold("two", NAMES, most=1).epochs == {"e": 2}


def test_a_watcher_that_takes_nothing_has_no_share(
    leases: CameraLeases, database: Database
) -> None:
    assert leases.hold("two", NAMES, takes=False).epochs == {}
    holding = leases.hold("one", NAMES, most=2)
    assert len(holding.epochs) == 2
    with database.reading() as connection:
        now_s = read_clock(connection)
        statement = sa.select(camera_leases).where(camera_leases.c.watcher == "one")
        row = connection.execute(statement).first()
    assert row is not None
    assert 0 < row.expires_s - now_s <= leases.lease_s  # by the database's clock
    assert row.expires_s - row.taken_s == pytest.approx(leases.lease_s)
    assert leases.hold("one", NAMES).quota == 5


@pytest.mark.parametrize(
    ("cameras", "shares"),
    [
        pytest.param(0, [0, 0, 0], id="no-camera"),
        pytest.param(2, [1, 1, 0], id="fewer-cameras-than-watchers"),
        pytest.param(9, [3, 3, 3], id="even"),
        pytest.param(10, [4, 3, 3], id="one-more"),
    ],
)
def test_shares_differ_by_one_at_most(cameras: int, shares: list[int]) -> None:
    live = ["c", "a", "b"]
    assert [share_of(cameras, live, name) for name in sorted(live)] == shares


@pytest.mark.server
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_lease_that_another_transaction_has_is_skipped(
    leases: CameraLeases, database: Database
) -> None:
    leases.hold("one", NAMES)
    leases.leave("one")
    with database.writing() as other:
        statement = sa.select(camera_leases).where(camera_leases.c.camera == "a").with_for_update()
        other.execute(statement)
        assert sorted(leases.hold("two", NAMES).epochs) == ["b", "c", "d", "e"]
    assert sorted(leases.hold("two", NAMES).epochs) == [*NAMES]


@pytest.mark.server
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_watcher_that_is_frozen_amid_a_write_loses_its_locks(
    leases: CameraLeases, database: Database
) -> None:
    leases.hold("frozen", NAMES)

    def lock_and_do_nothing() -> None:
        """Hold locks in an idle transaction, on which another waits, until the server ends it."""
        with database.writing() as connection:
            connection.execute(sa.select(camera_leases).with_for_update())
            leases.leave("frozen")
            connection.execute(sa.select(1))

    with pytest.raises(StoreUnavailable):
        lock_and_do_nothing()
    assert sorted(leases.hold("two", NAMES).epochs) == [*NAMES]
