"""Leases of cameras, in both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from orchestrator.cameras.store.camera_leases import CameraLeases, read_clock, share_of
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.store.schema import camera_leases, watchers

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def leases(database: Database) -> CameraLeases:
    return CameraLeases(database)


def pass_time(database: Database, watcher: str, seconds: float) -> None:
    """Let a watcher's leases and its last sign of life be older by some seconds."""
    with database.writing() as connection:
        older = {"expires_s": camera_leases.c.expires_s - seconds}
        mine = camera_leases.c.watcher == watcher
        connection.execute(sa.update(camera_leases).where(mine).values(older))
        seen = {"seen_s": watchers.c.seen_s - seconds}
        connection.execute(sa.update(watchers).where(watchers.c.name == watcher).values(seen))


def test_a_watcher_alone_takes_every_camera(leases: CameraLeases) -> None:
    assert leases.hold("one", NAMES).epochs == dict.fromkeys(NAMES, 1)
    assert leases.hold("one", NAMES).epochs == dict.fromkeys(NAMES, 1)


def test_a_second_watcher_gets_what_the_first_gives_back(leases: CameraLeases) -> None:
    leases.hold("one", NAMES)
    assert leases.hold("two", NAMES).epochs == {}
    assert leases.hold("one", NAMES).quota == 3
    leases.give_back("one", ["d", "e"])
    assert leases.hold("two", NAMES).epochs == {"d": 2, "e": 2}
    assert leases.hold("one", NAMES).epochs == {"a": 1, "b": 1, "c": 1}


def test_cameras_of_a_watcher_that_died_are_taken(leases: CameraLeases, database: Database) -> None:
    leases.hold("one", NAMES)
    leases.hold("two", NAMES)
    pass_time(database, "one", leases.lease_s + 1)
    assert leases.hold("two", NAMES).epochs == dict.fromkeys(NAMES, 2)
    assert leases.hold("one", NAMES, takes=False).epochs == {}


def test_a_lease_that_expired_is_renewed_if_nobody_took_it(
    leases: CameraLeases, database: Database
) -> None:
    leases.hold("one", NAMES)
    pass_time(database, "one", leases.lease_s + 1)
    assert leases.hold("one", NAMES, takes=False).epochs == dict.fromkeys(NAMES, 1)


def test_a_watcher_that_takes_nothing_has_no_share(leases: CameraLeases) -> None:
    assert leases.hold("two", NAMES, takes=False).epochs == {}
    assert leases.hold("one", NAMES).quota == 5


def test_a_watcher_that_leaves_gives_everything_back(leases: CameraLeases) -> None:
    leases.hold("one", NAMES)
    leases.leave("one")
    found = leases.hold("two", NAMES)
    assert (found.epochs, found.quota) == (dict.fromkeys(NAMES, 2), 5)


def test_most_cameras_limit_the_share(leases: CameraLeases) -> None:
    assert len(leases.hold("one", NAMES, most=2).epochs) == 2


def test_a_camera_that_is_no_longer_shared_is_not_renewed(leases: CameraLeases) -> None:
    leases.hold("one", NAMES)
    assert leases.hold("one", ["a"]).epochs == {"a": 1}


def test_the_clock_is_that_of_the_database(leases: CameraLeases, database: Database) -> None:
    leases.hold("one", NAMES)
    with database.reading() as connection:
        now_s = read_clock(connection)
        expires_s = connection.execute(sa.select(camera_leases.c.expires_s)).scalars().first()
    assert 0 < expires_s - now_s <= leases.lease_s


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
def test_a_lease_that_another_transaction_has_is_skipped(shared_url: str) -> None:
    database = Database(shared_url)
    leases = CameraLeases(database)
    leases.hold("one", NAMES)
    leases.leave("one")
    with database.writing() as other:
        taken = sa.select(camera_leases).where(camera_leases.c.camera == "a").with_for_update()
        other.execute(taken)
        assert sorted(leases.hold("two", NAMES).epochs) == ["b", "c", "d", "e"]
    assert sorted(leases.hold("two", NAMES).epochs) == [*NAMES]
    leases.leave("two")
    database.close()


@pytest.mark.server
def test_a_watcher_that_is_frozen_amid_a_write_loses_its_locks(shared_url: str) -> None:
    database = Database(shared_url)
    leases = CameraLeases(database)
    leases.hold("frozen", NAMES)
    with pytest.raises(StoreUnavailable):
        _lock_and_do_nothing(database, lambda: leases.leave("frozen"))
    assert sorted(leases.hold("two", NAMES).epochs) == [*NAMES]
    leases.leave("two")
    database.close()


def _lock_and_do_nothing(database: Database, wait: Callable[[], None]) -> None:
    """Hold locks in a transaction while another one waits for them, until the server ends it."""
    with database.writing() as connection:
        connection.execute(sa.select(camera_leases).with_for_update())
        wait()
        connection.execute(sa.select(1))
