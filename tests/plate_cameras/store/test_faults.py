"""No pass is lost by faults: a killed database, a full disk, a busy database, invalid values."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import psycopg
import psycopg.errors as pg
import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Store
from plate_cameras.passes import PassEvent
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import deliveries, passes
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    REQUESTER,
    WEBHOOK,
    find_ids,
    make_event,
)
from tests.waiting import until

PICTURE_BYTES = 20_000
DISK_BYTES = 1_200_000


def make_heavy_event(pass_id: str) -> PassEvent:
    """Return an event with a large picture of its own."""
    event = make_event(pass_id)
    best = replace(event.passed.best, crop_jpeg=os.urandom(PICTURE_BYTES))
    return replace(event, passed=replace(event.passed, best=best))


def read_ids(url: str) -> tuple[list[str], list[str]]:
    """Return the ids of all passes and of all deliveries."""
    database = Database(url)
    with database.reading() as connection:
        of_passes = sa.select(passes.c.id).order_by(passes.c.id)
        of_deliveries = sa.select(deliveries.c.id).order_by(deliveries.c.id)
        found = tuple(list(connection.execute(one).scalars()) for one in (of_passes, of_deliveries))
    database.close()
    return found  # type: ignore[return-value]


def drain(store: PassStore) -> None:
    until(lambda: store.replay_spool() == 0, "the spool to be empty")


class Load:
    """Writes one pass after the other until it is stopped."""

    def __init__(self, store: PassStore) -> None:
        self.written: list[str] = []
        self._store = store
        self._stopped = Event()

    def run(self) -> None:
        while not self._stopped.wait(0.01):
            name = f"p{len(self.written):05d}"
            self._store.write([make_heavy_event(name)], [WEBHOOK])
            self.written.append(name)

    def stop(self) -> None:
        self._stopped.set()

    def wait_for(self, more: int) -> None:
        wanted = len(self.written) + more
        until(lambda: len(self.written) >= wanted, f"{wanted} passes to be written")


@pytest.mark.server
def test_a_killed_postgresql_loses_no_pass(server: PostgresqlServer, tmp_path: Path) -> None:
    url = server.create_database("killed")
    store = open_store(Store(url=url), tmp_path)
    load = Load(store)
    with ThreadPoolExecutor() as threads:
        running = threads.submit(load.run)
        load.wait_for(10)
        server.kill()
        load.wait_for(30)
        server.start()
        load.wait_for(10)
        load.stop()
        running.result()
    drain(store)

    of_passes, of_deliveries = read_ids(url)
    assert of_passes == load.written
    assert of_deliveries == [f"{name}_closed_0" for name in load.written]
    counts = store.writer.spool.counts
    assert counts.spooled == counts.replayed >= 30
    assert (counts.dropped, counts.rejected) == (0, 0)
    assert len(list((tmp_path / "pictures").rglob("*.jpg"))) == len(load.written)
    store.close()


@pytest.mark.server
def test_a_store_opens_while_its_database_is_away(server: PostgresqlServer, tmp_path: Path) -> None:
    url = server.create_database("late")
    server.kill()
    store = open_store(Store(url=url), tmp_path)
    store.write([make_event("a")], [])
    with pytest.raises(StoreUnavailable, match="cannot be used now"):
        store.search(PassQuery(), REQUESTER)
    server.start()
    drain(store)

    assert find_ids(store, PassQuery()) == ["a"]
    store.close()


@pytest.mark.parametrize("step", ["do_execute", "do_commit"])
@pytest.mark.parametrize("error", [pg.DiskFull, pg.ReadOnlySqlTransaction])
def test_a_server_without_room_is_told_and_loses_no_pass(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error], step: str
) -> None:
    def fail(*_: object) -> None:
        raise error("as the server says")

    with monkeypatch.context() as patched:
        patched.setattr(store.writer.database.engine.dialect, step, fail)
        store.write([make_event("a")], [WEBHOOK])
        with pytest.raises(StoreUnavailable, match="cannot be used now: as the server says"):
            store.search(PassQuery(), REQUESTER)
    assert store.writer.spool.counts.spooled == 1
    drain(store)
    assert find_ids(store, PassQuery()) == ["a"]


@pytest.mark.server
def test_a_value_that_the_database_rejects_stops_no_other(
    server: PostgresqlServer, tmp_path: Path
) -> None:
    store = open_store(Store(url=server.create_database("strict")), tmp_path)
    store.write([make_event("a"), make_event("b", "A\x00"), make_event("c")], [])

    assert sorted(find_ids(store, PassQuery())) == ["a", "c"]
    assert store.writer.spool.counts.rejected == 1
    store.close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of 1.2 MB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs to mount a tmpfs, which only root may")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("full", [pytest.param("db", id="db"), pytest.param("pictures", id="pic")])
def test_a_full_disk_loses_no_pass(tiny_disk: Path, tmp_path: Path, full: str) -> None:
    places = {"db": tmp_path, "pictures": tmp_path} | {full: tiny_disk}
    url = f"sqlite:///{places['db'] / 'passes.db'}"
    settings = Store(url, str(places["pictures"] / "pictures"), spool=tmp_path / "spool")
    store = open_store(settings, tmp_path)
    written = [f"p{at:03d}" for at in range(60)]
    for number, name in enumerate(written):
        store.writer.monotonic = lambda now_s=100.0 * number: now_s  # each write tries the database
        store.write([_make_long_event(name)], [WEBHOOK])
    assert store.writer.spool.counts.spooled > 0

    remount = ["mount", "-o", "remount,size=50000000", tiny_disk]
    subprocess.run(remount, check=True)
    store.writer.monotonic = lambda: 1e9
    assert store.replay_spool() == 0
    assert read_ids(url) == (written, [f"{name}_closed_0" for name in written])
    store.close()


def test_a_full_disk_does_not_end_retention(tiny_disk: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=20000000", tiny_disk], check=True)
    settings = Store(f"sqlite:///{tiny_disk / 'passes.db'}", str(tiny_disk / "pictures"))
    store = open_store(settings, tmp_path, clock=lambda: NOW_S)
    written = [f"p{at:03d}" for at in range(200)]
    store.write([_make_long_event(name) for name in written], [WEBHOOK])
    store.delete_expired(NOW_S)  # reserves room for the next deletion
    fill_disk(tiny_disk / "other")

    assert store.delete_expired(NOW_S + 400 * DAY_S).passes == 200
    assert list((tiny_disk / "pictures").rglob("*.jpg")) == []
    store.close()


def fill_disk(file: Path) -> None:
    """Write until nothing more fits."""
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=4096"]
    assert subprocess.run(command, capture_output=True).returncode


def _make_long_event(pass_id: str) -> PassEvent:
    """Return an event with many readings."""
    event = make_heavy_event(pass_id)
    return replace(event, passed=replace(event.passed, observations=event.passed.observations * 50))


def test_a_store_without_any_room_tells_the_writer(tmp_path: Path) -> None:
    store = open_store(Store(url=_locked_url(tmp_path)), tmp_path, spool_bytes=10)

    with pytest.raises(StoreUnavailable, match="the spool is full"):
        store.write([make_event("a")], [])
    store.close()


def test_events_wait_until_the_database_takes_them(tmp_path: Path) -> None:
    url = _locked_url(tmp_path)
    store = open_store(Store(url=url), tmp_path)
    store.write([make_event("a")], [WEBHOOK])
    store.write([make_event("b")], [WEBHOOK])
    assert "cannot be used" in store.writer.last_error
    (tmp_path / "missing").mkdir()
    drain(store)

    assert read_ids(url) == (["a", "b"], ["a_closed_0", "b_closed_0"])
    assert store.writer.last_error == ""
    store.close()


def test_deletion_of_a_plate_reaches_the_spool(tmp_path: Path) -> None:
    store = open_store(Store(url=_locked_url(tmp_path)), tmp_path)
    store.write([make_event("a"), make_event("b", "A128BC77")], [])
    store.writer.monotonic = lambda: 0.0  # the database is not tried before the deletion
    (tmp_path / "missing").mkdir()
    open_store(Store(url=_locked_url(tmp_path)), tmp_path / "other").close()

    assert store.delete_plate("A123BC77", REQUESTER).spooled == 1
    store.writer.monotonic = lambda: 1e9
    store.replay_spool()
    assert find_ids(store, PassQuery()) == ["b"]
    store.close()


def test_a_busy_sqlite_database_is_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'passes.db'}"
    first, second = Database(url), Database(url, busy_timeout_s=0.05)
    with (
        first.writing(),
        pytest.raises(StoreUnavailable, match="busy: another process"),
        second.writing(),
    ):
        pass
    first.close()
    second.close()


def test_several_writers_are_safe(url: str, tmp_path: Path) -> None:
    stores = [
        open_store(Store(url=url, spool=tmp_path / f"spool {at}"), tmp_path) for at in range(4)
    ]
    shared = [make_event(f"shared {at}") for at in range(5)]

    def write(store: PassStore, own: Sequence[PassEvent]) -> None:
        for event in own:
            store.write([event, *shared], [WEBHOOK])

    own = [[make_event(f"{writer} {at}") for at in range(5)] for writer in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, stores, own))

    assert [len(ids) for ids in read_ids(url)] == [25, 25]
    assert [store.writer.spool.counts.spooled for store in stores] == [0] * 4
    for store in stores:
        store.close()


def test_several_claimers_get_different_deliveries(url: str, tmp_path: Path) -> None:
    stores = [
        open_store(Store(url=url, spool=tmp_path / f"spool {at}"), tmp_path) for at in range(4)
    ]
    stores[0].write([make_event(f"{at:02d}") for at in range(40)], [WEBHOOK])

    def claim(store: PassStore) -> list[str]:
        claimed = (store.outbox.claim("webhook", 2, 4e9, 60) for _ in range(5))
        return [delivery.id for deliveries in claimed for delivery in deliveries]

    with ThreadPoolExecutor(4) as threads:
        claimed = [one for ids in threads.map(claim, stores) for one in ids]

    assert sorted(claimed) == [f"{at:02d}_closed_0" for at in range(40)]
    for store in stores:
        store.close()


def _locked_url(folder: Path) -> str:
    """Return the address of a database in a folder that does not exist yet."""
    return f"sqlite:///{folder / 'missing' / 'passes.db'}"
