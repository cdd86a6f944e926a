"""No pass is lost by faults: a killed database, a full disk, a busy database."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Event

import psycopg
import psycopg.errors as pg
import pytest

from plate_cameras.passes import PassEvent
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import deliveries, passes
from tests.plate_cameras.store.postgresql_server import QuickPostgres
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    REQUESTER,
    WEBHOOK,
    find_ids,
    make_event,
    read_column,
    with_pictures,
)
from tests.waiting import until

PICTURE_BYTES = 20_000
DISK_BYTES = 1_200_000


def make_heavy_event(pass_id: str, readings: int = 1) -> PassEvent:
    """Return an event with a large picture of its own, and many readings."""
    event = with_pictures(make_event(pass_id), os.urandom(PICTURE_BYTES), b"")
    looks = event.vehicle_pass.observations * readings
    return replace(event, vehicle_pass=replace(event.vehicle_pass, observations=looks))


def check_written(store: PassStore, names: Sequence[str]) -> None:
    """Assert that exactly these passes, and their deliveries, are stored."""
    database = store.writer.database
    assert read_column(database, passes.c.id) == names
    assert read_column(database, deliveries.c.id) == [f"{name}_closed_0" for name in names]


def drain(store: PassStore) -> None:
    until(lambda: store.replay_spool() == 0, "the spool to be empty")


class PassLoad:
    """Writes one pass after the other until it is stopped."""

    def __init__(self, store: PassStore) -> None:
        self.written: list[str] = []
        self._store = store
        self.stopped = Event()

    def run(self) -> None:
        while not self.stopped.wait(0.01):
            name = f"p{len(self.written):05d}"
            self._store.write([make_heavy_event(name)], [WEBHOOK])
            self.written.append(name)

    def wait_for(self, count: int) -> None:
        target = len(self.written) + count
        until(lambda: len(self.written) >= target, f"{target} passes to be written")


@pytest.mark.server
def test_a_killed_postgresql_loses_no_pass(
    server: QuickPostgres, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    store = opening(server.create_database("killed"))
    load = PassLoad(store)
    with ThreadPoolExecutor() as threads:
        running = threads.submit(load.run)
        load.wait_for(10)
        server.kill()
        load.wait_for(30)
        server.start()
        load.wait_for(10)
        load.stopped.set()
        running.result()
    drain(store)

    check_written(store, load.written)
    counts = store.writer.spool.counts
    assert counts.spooled == counts.replayed >= 30
    assert (counts.dropped, counts.rejected) == (0, 0)
    assert len(list((tmp_path / "pictures").rglob("*.jpg"))) == len(load.written)


@pytest.mark.server
def test_a_store_opens_while_its_database_is_away(
    server: QuickPostgres, opening: Callable[..., PassStore]
) -> None:
    url = server.create_database("late")
    server.kill()
    store = opening(url)
    store.write([make_event("a")], [WEBHOOK])
    with pytest.raises(StoreUnavailable, match="cannot be used now"):
        store.search(PassQuery(), REQUESTER)
    server.start()
    drain(store)

    assert find_ids(store, PassQuery()) == ["a"]


@pytest.mark.parametrize("step", ["do_execute", "do_commit"])
@pytest.mark.parametrize("error", [pg.DiskFull, pg.ReadOnlySqlTransaction])
def test_a_server_without_room_is_told_and_loses_no_pass(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error], step: str
) -> None:
    def fail(*_: object) -> None:
        raise error("as the server says")

    with monkeypatch.context() as patch:
        patch.setattr(store.writer.database.engine.dialect, step, fail)
        store.write([make_event("a")], [WEBHOOK])
        with pytest.raises(StoreUnavailable, match="cannot be used now: as the server says"):
            store.search(PassQuery(), REQUESTER)
    assert store.writer.spool.counts.spooled == 1
    drain(store)
    assert find_ids(store, PassQuery()) == ["a"]


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


def enlarge(disk: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


@pytest.mark.parametrize("full", [pytest.param("db", id="db"), pytest.param("pictures", id="pic")])
def test_a_full_disk_loses_no_pass(
    tiny_disk: Path, tmp_path: Path, opening: Callable[..., PassStore], full: str
) -> None:
    places = {"db": tmp_path, "pictures": tmp_path} | {full: tiny_disk}
    url = f"sqlite:///{places['db'] / 'passes.db'}"
    store = opening(url, pictures=str(places["pictures"] / "pictures"))
    names = [f"p{at:03d}" for at in range(60)]
    for number, name in enumerate(names):
        store.writer.monotonic = lambda now_s=100.0 * number: now_s  # each write tries the database
        store.write([make_heavy_event(name, 50)], [WEBHOOK])
    assert store.writer.spool.counts.spooled > 0

    enlarge(tiny_disk, 50_000_000)
    store.writer.monotonic = lambda: 1e9
    assert store.replay_spool() == 0
    check_written(store, names)


def test_a_full_disk_does_not_end_retention(
    tiny_disk: Path, opening: Callable[..., PassStore]
) -> None:
    enlarge(tiny_disk, 20_000_000)
    url, pictures = f"sqlite:///{tiny_disk / 'passes.db'}", tiny_disk / "pictures"
    store = opening(url, pictures=str(pictures), clock=lambda: NOW_S)
    store.write([make_heavy_event(f"p{at:03d}", 50) for at in range(200)], [WEBHOOK])
    store.delete_expired(NOW_S)  # reserves room for the next deletion
    fill = ["dd", "if=/dev/zero", f"of={tiny_disk / 'other'}", "bs=4096"]
    assert subprocess.run(fill, capture_output=True).returncode

    assert store.delete_expired(NOW_S + 400 * DAY_S).passes == 200
    assert list(pictures.rglob("*.jpg")) == []


def test_a_store_without_any_room_tells_the_writer(
    tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    store = opening(f"sqlite:///{tmp_path / 'missing' / 'passes.db'}")
    store.writer.spool.most_bytes = 10
    with pytest.raises(StoreUnavailable, match="the spool is full"):
        store.write([make_event("a")], [])


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


def test_several_writers_and_claimers_are_safe(
    url: str, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    stores = [opening(url, spool=tmp_path / f"spool {at}") for at in range(4)]
    shared_events = [make_event(f"shared {at}") for at in range(5)]
    own_events = [[make_event(f"{writer} {at}") for at in range(5)] for writer in range(4)]

    def write(store: PassStore, own_events: Sequence[PassEvent]) -> None:
        for event in own_events:
            store.write([event, *shared_events], [WEBHOOK])

    def claim(store: PassStore) -> list[str]:
        batches = (store.outbox.claim("webhook", 2, 4e9, 60) for _ in range(5))
        return [delivery.id for batch in batches for delivery in batch]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, stores, own_events))
        delivery_ids = [*chain.from_iterable(threads.map(claim, stores))]

    events = chain(shared_events, *own_events)
    names = sorted(event.vehicle_pass.id for event in events)
    check_written(stores[0], names)
    assert [store.writer.spool.counts.spooled for store in stores] == [0] * 4
    assert sorted(delivery_ids) == [f"{name}_closed_0" for name in names]
