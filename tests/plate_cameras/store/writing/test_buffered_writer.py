"""Events that cannot all be written: none is lost, and none stops the others."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.configuration import Camera, Store
from plate_cameras.store.erasing.picture_removals import note_removals
from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.writing import buffered_writer
from plate_cameras.store.writing.buffered_writer import FIRST_PAUSE_S, REPLAY_S
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.spool import Spool
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, WEBHOOK, find_ids, make_event


class PickyWriter(PassWriter):
    """A writer that fails at some passes, and records the ids of each transaction."""

    def __init__(self, failing: Sequence[str], error: Exception) -> None:
        super().__init__()
        self.failing, self.error = {*failing}, error
        self.tried: list[str] = []

    def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
        ids = [event.event.passed.id for event in events]
        self.tried.append("".join(ids))
        if self.failing.intersection(ids):
            raise self.error
        super().write(connection, events, kept_s)


@pytest.fixture
def make_picky(store: PassStore) -> Callable[..., PickyWriter]:
    def make(*failing: str, error: Exception) -> PickyWriter:
        rows = PickyWriter(failing, error)
        store.writer.rows = rows
        return rows

    return make


UNCLEAR = [
    pytest.param(StoreError("permission denied"), id="unclear"),
    pytest.param(ValueError("year 99999 is out of range"), id="a fault of ours"),
]


@pytest.mark.parametrize("error", UNCLEAR)
def test_an_event_that_alone_fails_is_put_aside(
    store: PassStore, make_picky: Callable[..., PickyWriter], error: Exception
) -> None:
    rows = make_picky("b", error=error)
    store.write([make_event(name) for name in "abc"], [WEBHOOK])
    store.writer.monotonic = lambda: 1e9
    store.replay_spool()

    assert sorted(find_ids(store, PassQuery())) == ["a", "c"]
    assert (store.writer.spool.counts.rejected, len(store.writer.spool)) == (1, 0)
    assert rows.tried == ["abc", "abc", "a", "b", "c"]


@pytest.mark.parametrize("error", UNCLEAR)
def test_a_database_that_takes_nothing_puts_no_event_aside(
    store: PassStore, make_picky: Callable[..., PickyWriter], error: Exception
) -> None:
    rows = make_picky("a", "b", "c", error=error)
    store.write([make_event(name) for name in "abc"], [WEBHOOK])
    assert (store.writer.spool.counts.rejected, len(store.writer.spool)) == (0, 3)
    assert not store.writer.is_database_up
    store.writer.monotonic = lambda: 1e9
    assert store.replay_spool() == 3
    assert store.writer.spool.counts.rejected == 0
    assert str(error) in store.writer.last_error

    rows.failing = set()
    store.writer.monotonic = lambda: 2e9
    assert store.replay_spool() == 0
    assert sorted(find_ids(store, PassQuery())) == ["a", "b", "c"]


def test_a_later_event_shows_that_an_earlier_one_was_to_blame(
    store: PassStore, make_picky: Callable[..., PickyWriter]
) -> None:
    make_picky("a", error=StoreError("permission denied"))
    store.write([make_event("a")], [])
    store.writer.monotonic = lambda: 1e9
    store.write([make_event("b")], [])
    store.writer.monotonic = lambda: 2e9
    store.replay_spool()

    assert find_ids(store, PassQuery()) == ["b"]
    assert store.writer.spool.counts.rejected == 1


@pytest.mark.server
def test_an_index_row_that_is_too_large_stops_no_other(
    server: PostgresqlServer, tmp_path: Path
) -> None:
    store = open_store(Store(url=server.create_database("large")), tmp_path)
    name = "".join(chr(0x4E00 + at) for at in range(9000))
    store.write([make_event("bad", zones=(name,))], [WEBHOOK])
    store.write([make_event("good")], [WEBHOOK])

    assert find_ids(store, PassQuery()) == ["good"]
    assert store.writer.spool.counts.rejected == 1
    store.close()


def test_a_request_does_not_wait_for_events_that_are_written(store: PassStore) -> None:
    begun, end = threading.Event(), threading.Event()

    class SlowWriter(PassWriter):
        def write(self, *_: Any) -> None:
            begun.set()
            end.wait(60)

    store.writer.rows = SlowWriter()
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(store.write, [make_event("a")], [])
        assert begun.wait(60)
        store.writer.prepare()
        assert not writing.done()
        end.set()


def test_requests_are_told_at_once_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "missing"
    store = open_store(Store(url=f"sqlite:///{missing / 'passes.db'}"), tmp_path)
    store.writer.monotonic = lambda: 1e9
    with pytest.raises(StoreUnavailable):
        store.writer.prepare()
    missing.mkdir()
    with pytest.raises(StoreUnavailable):
        store.writer.prepare()
    store.writer.monotonic = lambda: 1e9 + FIRST_PAUSE_S
    store.writer.prepare()
    store.close()


def test_cameras_are_taken_over_when_the_database_is_back(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    store = open_store(Store(url=f"sqlite:///{missing / 'passes.db'}"), tmp_path)
    store.configure([Camera("gate", "rtsp://gate", retention_days=1)])
    missing.mkdir()
    store.writer.monotonic = lambda: 1e9
    store.replay_spool()  # there are no events

    store.write([make_event("a", first_seen_s=NOW_S)], [])
    assert store.delete_expired(4e9).passes == 0  # young by the store's clock
    assert read_cameras(store) == [("gate", 1.0)]
    store.close()


def read_cameras(store: PassStore) -> list[tuple[str, float]]:
    """Return the names of the cameras and the days for which their passes are kept."""
    with store.writer.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT name, retention_days FROM cameras").all()
    return [(name, days) for name, days in rows]


def test_a_camera_that_the_database_rejects_stops_no_other_and_no_event(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Camera("yard", "rtsp://yard", lists=("\ud800",))
    store.configure([bad, Camera("gate", "rtsp://gate", retention_days=1)])
    store.write([make_event("a")], [])

    assert find_ids(store, PassQuery()) == ["a"]
    assert store.writer.spool.counts.rejected == 0
    assert read_cameras(store) == [("gate", 1.0)]
    assert "'yard': its lists and retention are not used" in caplog.text


def test_a_picture_that_is_removed_before_its_pass_is_written_comes_back(
    store: PassStore, url: str, tmp_path: Path
) -> None:
    settings = Store(url=url, keep_frames=True, blur="none", spool=tmp_path / "other")
    other = open_store(settings, tmp_path, clock=lambda: NOW_S)
    store.write([make_event("a")], [])
    crop = store.get("a", REQUESTER).found.crop or ""
    store.delete_plate("A123BC77", REQUESTER)

    class Removing:
        """A picture store whose files another process removes at once."""

        def __init__(self) -> None:
            self.puts = 0

        def put_all(self, jpegs: Any) -> None:
            self.puts += 1
            pictures.put_all(jpegs)
            if self.puts == 1:
                other.delete_expired(NOW_S)

    pictures, removing = store.writer.pictures, Removing()
    store.writer.pictures = removing  # type: ignore[assignment]
    with store.writer.database.writing() as connection:
        note_removals(connection, [bytes.fromhex(crop)])
    event = make_event("again", "B777BB77")
    best = replace(event.passed.best, crop_jpeg=b"crop a")
    store.write([replace(event, passed=replace(event.passed, best=best))], [])

    assert removing.puts == 2
    assert store.picture(crop) == b"crop a"
    other.close()


def test_what_another_process_configures_later_stays(store: PassStore) -> None:
    store.configure([Camera("yard", "rtsp://yard", retention_days=2)])
    with store.writer.database.writing() as connection:
        connection.exec_driver_sql("UPDATE cameras SET retention_days = 7")
    store.write([make_event("a")], [])

    assert ("yard", 7.0) in read_cameras(store)


def test_the_tables_are_made_once(store: PassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffered_writer, "upgrade", pytest.fail)
    store.write([make_event("a")], [])

    assert find_ids(store, PassQuery()) == ["a"]


def test_a_check_makes_the_tables_and_tells_whether_the_database_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "missing"
    store = open_store(Store(url=f"sqlite:///{missing / 'passes.db'}"), tmp_path)
    store.writer.monotonic = lambda: 1e9
    store.writer.check()
    assert not store.writer.is_database_up
    missing.mkdir()
    store.writer.monotonic = lambda: 2e9
    store.writer.check()
    assert store.writer.is_database_up
    assert read_cameras(store) == []

    def fail(_: Database) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(Database, "check", fail)
    store.writer.check()
    state = store.writer.is_database_up, store.writer.last_error
    assert state == (False, "the database is away")
    store.close()


def test_another_process_may_use_the_spool_of_a_closed_writer(store: PassStore) -> None:
    store.write([make_event("a", "\ud800")], [])  # it uses its spool
    store.writer.close()

    other = Spool(store.writer.spool.folder)
    other.acquire()
    other.close()


def test_the_others_are_written_at_once_when_one_is_rejected(store: PassStore) -> None:
    store.write([make_event("a"), make_event("b", "\ud800"), make_event("c")], [])

    assert sorted(find_ids(store, PassQuery())) == ["a", "c"]
    counts = store.writer.spool.counts
    assert (counts.spooled, counts.replayed, counts.rejected) == (3, 2, 1)


class AwayWriter(PassWriter):
    """A writer without a database, which records the number of events of each transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[int] = []
        self.is_away = True

    def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
        self.tried.append(len(events))
        if self.is_away:
            raise StoreUnavailable("the database is away")
        super().write(connection, events, kept_s)


def test_one_event_is_tried_while_the_database_is_away_and_pauses_grow(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    now_s = 0.0
    store.writer.monotonic = lambda: now_s
    store.writer.rows = away = AwayWriter()
    store.write([make_event(f"{at}") for at in range(5)], [])
    tried_s: list[float] = []
    for _ in range(200):
        now_s += 0.1
        before = len(away.tried)
        store.writer.replay()
        tried_s += [now_s] if len(away.tried) > before else []
    assert away.tried == [5, *([1] * len(tried_s))]
    pauses_s = [later - earlier for earlier, later in zip([0.0, *tried_s], tried_s, strict=False)]
    assert pauses_s == pytest.approx([0.5, 1.0, 2.0, 4.0, 5.0, 5.0], abs=0.11)
    assert (store.writer.is_database_up, store.writer.last_error) == (False, "the database is away")

    away.is_away = False
    now_s += 10
    away.tried.clear()
    assert store.writer.replay() == 0
    assert away.tried == [1, 4]
    logged = [
        record.message.partition(" ")[2] for record in caplog.records if "passes" in record.message
    ]
    assert logged == [
        f"wait in {store.writer.spool.folder}: the database is away",
        "can be kept again; 4 events wait in the spool",
    ]
    assert (store.writer.is_database_up, store.writer.last_error) == (True, "")
    assert store.writer.spool.counts.replayed == 5


@pytest.mark.parametrize(
    ("error", "has_traceback"),
    [
        pytest.param(StoreUnavailable("the database is away"), False, id="known"),
        pytest.param(KeyError("a bug"), True, id="a fault of ours"),
    ],
)
def test_a_fault_of_ours_is_logged_with_its_traceback(
    store: PassStore,
    make_picky: Callable[..., PickyWriter],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    has_traceback: bool,
) -> None:
    make_picky("a", error=error)
    store.write([make_event("a")], [])

    (told,) = [record for record in caplog.records if "passes wait in" in record.message]
    assert bool(told.exc_info) == has_traceback
    assert str(error) in store.writer.last_error


def test_a_fault_of_ours_is_logged_each_time(
    store: PassStore, make_picky: Callable[..., PickyWriter], caplog: pytest.LogCaptureFixture
) -> None:
    make_picky("a", error=KeyError("a bug"))
    store.write([make_event("a")], [])
    store.writer.monotonic = lambda: 1e9
    store.replay_spool()

    assert caplog.text.count("passes wait in") == 2
    assert "a bug" in store.writer.last_error


def test_a_database_that_goes_away_during_a_replay_loses_no_event(store: PassStore) -> None:
    """One event causes the first failure. After that, the database is away."""

    class Failing(AwayWriter):
        def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
            if len(events) > 1:
                self.tried.append(len(events))
                raise StoreError("permission denied")
            super().write(connection, events, kept_s)

    store.writer.rows = failing = Failing()
    store.write([make_event("a"), make_event("b")], [])
    store.writer.monotonic = lambda: 1e9

    assert store.replay_spool() == 2
    assert failing.tried == [2, 2, 1]
    assert store.writer.last_error == "the database is away"


def test_new_events_wait_two_seconds_for_those_of_the_spool(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0

    class SlowWriter(AwayWriter):
        def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
            nonlocal now_s
            now_s += REPLAY_S
            super().write(connection, events, kept_s)

    monkeypatch.setattr(buffered_writer, "BATCH", 1)
    store.writer.monotonic = lambda: now_s
    store.writer.rows = slow = SlowWriter()
    store.write([make_event(name) for name in "abc"], [])
    slow.is_away = False
    now_s += 10

    assert store.replay_spool() == 2
