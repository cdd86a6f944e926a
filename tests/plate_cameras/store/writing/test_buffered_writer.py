"""Events that cannot all be written: none is lost, and none stops the others."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import cameras
from plate_cameras.store.writing import buffered_writer
from plate_cameras.store.writing.buffered_writer import FIRST_PAUSE_S, REPLAY_S
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.spool import Spool
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, find_ids, make_event, read_rows

ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""For what is the same with each database."""
ABC = [make_event(name) for name in "abc"]


class PickyWriter(PassWriter):
    """A writer that fails at some passes and large transactions; it records the ids of each."""

    def __init__(self, failing: Sequence[str], error: Exception, most: int = 99) -> None:
        super().__init__()
        self.failing, self.error, self.most = {*failing}, error, most
        self.tried: list[str] = []

    def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
        ids = [event.vehicle_pass.id for event in events]
        self.tried.append("".join(ids))
        if len(ids) > self.most:
            raise StoreError("permission denied")
        if self.failing.intersection(ids):
            raise self.error
        super().write(connection, events, kept_s)


def replay_at(store: PassStore, now_s: float) -> int:
    store.writer.monotonic = lambda: now_s
    return store.replay_spool()


AWAY = StoreUnavailable("the database is away")
UNCLEAR = [
    pytest.param(StoreError("permission denied"), id="unclear"),
    pytest.param(ValueError("year 99999 is out of range"), id="a fault of ours"),
]


@ON_SQLITE
@pytest.mark.parametrize("error", UNCLEAR)
def test_an_event_that_alone_fails_is_put_aside(store: PassStore, error: Exception) -> None:
    store.writer.pass_writer = pass_writer = PickyWriter("b", error)
    store.write(ABC, [WEBHOOK])
    replay_at(store, 1e9)

    assert sorted(find_ids(store, PassQuery())) == ["a", "c"]
    assert (store.writer.spool.counts.rejected, len(store.writer.spool)) == (1, 0)
    assert pass_writer.tried == ["abc", "abc", "a", "b", "c"]


@ON_SQLITE
@pytest.mark.parametrize("error", UNCLEAR)
def test_a_database_that_takes_nothing_puts_no_event_aside(
    store: PassStore, error: Exception
) -> None:
    store.writer.pass_writer = pass_writer = PickyWriter("abc", error)
    store.write(ABC, [WEBHOOK])
    assert (store.writer.spool.counts.rejected, len(store.writer.spool)) == (0, 3)
    assert not store.writer.is_database_up
    assert replay_at(store, 1e9) == 3
    assert store.writer.spool.counts.rejected == 0
    assert str(error) in store.writer.last_error

    pass_writer.failing = set()
    assert replay_at(store, 2e9) == 0
    assert sorted(find_ids(store, PassQuery())) == ["a", "b", "c"]


@ON_SQLITE
def test_a_later_event_shows_that_an_earlier_one_was_to_blame(store: PassStore) -> None:
    store.writer.pass_writer = PickyWriter("a", StoreError("permission denied"))
    store.write(ABC[:1], [])
    store.writer.monotonic = lambda: 1e9
    store.write(ABC[1:2], [])
    replay_at(store, 2e9)

    assert (find_ids(store, PassQuery()), store.writer.spool.counts.rejected) == (["b"], 1)


@ON_SQLITE
def test_a_database_that_goes_away_during_a_replay_loses_no_event(store: PassStore) -> None:
    """One event causes the first failure. After that, the database is away."""
    store.writer.pass_writer = pass_writer = PickyWriter("ab", AWAY, most=1)
    store.write(ABC[:2], [])
    assert replay_at(store, 1e9) == 2
    assert pass_writer.tried == ["ab", "ab", "a"]
    assert store.writer.last_error == "the database is away"


def test_the_others_are_written_at_once_when_one_is_rejected(store: PassStore) -> None:
    store.write([make_event("a"), make_event("b", "\ud800"), make_event("c")], [])

    assert sorted(find_ids(store, PassQuery())) == ["a", "c"]
    counts = store.writer.spool.counts
    assert (counts.spooled, counts.replayed, counts.rejected) == (3, 2, 1)
    store.writer.close()
    other = Spool(store.writer.spool.folder)  # which another process may use now
    other.acquire()
    other.close()


@ON_SQLITE
@pytest.mark.parametrize("time_s", [3e11, -1e11, float("nan")])
def test_times_of_no_calendar_keep_no_other_pass_from_being_shown(
    store: PassStore, time_s: float
) -> None:
    """The time stamps of a camera's file may say anything."""
    store.write([make_event("a"), make_event("b", first_seen_s=time_s, clock="file")], [WEBHOOK])
    assert find_ids(store, PassQuery()) == ["a"]
    assert store.writer.spool.counts.rejected == 1


@pytest.mark.server
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"zones": ("".join(map(chr, range(0x4E00, 0x7128))),)}, id="a large key"),
        pytest.param({"text": "A\x00"}, id="a zero byte"),
    ],
)
def test_what_postgresql_rejects_stops_no_other(
    server: PostgresqlServer, opening: Callable[..., PassStore], changes: dict[str, Any]
) -> None:
    store = opening(server.create_database(f"large_{next(iter(changes))}"))
    store.write([make_event("bad", **changes)], [WEBHOOK])
    store.write([make_event("good")], [WEBHOOK])

    assert find_ids(store, PassQuery()) == ["good"]
    assert store.writer.spool.counts.rejected == 1


@ON_SQLITE
def test_a_request_does_not_wait_for_events_that_are_written(store: PassStore) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    class SlowWriter(PassWriter):
        def write(self, *_: Any) -> None:
            has_begun.set()
            may_end.wait(60)

    store.writer.pass_writer = SlowWriter()
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(store.write, ABC, [])
        assert has_begun.wait(60)
        store.writer.prepare()
        assert not writing.done()
        may_end.set()


@pytest.fixture
def away(tmp_path: Path, opening: Callable[..., PassStore]) -> PassStore:
    """Return a store whose database can be made in the folder `missing`."""
    store = opening(f"sqlite:///{tmp_path / 'missing' / 'passes.db'}")
    store.writer.monotonic = lambda: 1e9
    return store


def test_requests_are_told_at_once_after_a_failure(away: PassStore, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            away.writer.prepare()
        (tmp_path / "missing").mkdir(exist_ok=True)
    away.writer.monotonic = lambda: 1e9 + FIRST_PAUSE_S
    away.writer.prepare()


def test_cameras_are_taken_over_when_the_database_is_back(
    away: PassStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away.configure([Camera("gate", "rtsp://gate", retention_days=1)])
    assert not away.writer.is_database_up
    (tmp_path / "missing").mkdir()
    away.writer.monotonic = lambda: 2e9
    away.writer.check()  # makes the tables
    assert away.writer.is_database_up
    assert read_cameras(away) == [("gate", 1.0)]
    monkeypatch.setattr(buffered_writer, "upgrade", pytest.fail)  # once is enough
    away.write([make_event("a", first_seen_s=NOW_S)], [])
    assert away.delete_expired(4e9).passes == 0  # young by the store's clock

    def fail(_: Database) -> None:
        raise AWAY

    monkeypatch.setattr(Database, "check", fail)
    away.writer.check()
    assert (away.writer.is_database_up, away.writer.last_error) == (False, str(AWAY))


def read_cameras(store: PassStore) -> list[tuple[str, float]]:
    """Return the cameras and the days for which their passes are kept."""
    return read_rows(store.writer.database, cameras.c.name, cameras.c.retention_days)


def test_a_camera_that_the_database_rejects_stops_no_other_and_no_event(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Camera("yard", "rtsp://yard")
    object.__setattr__(bad, "lists", ("\ud800",))  # which no configuration may have
    store.configure([bad, Camera("gate", "rtsp://gate", retention_days=1)])
    store.write(ABC[:1], [])

    assert find_ids(store, PassQuery()) == ["a"]
    assert store.writer.spool.counts.rejected == 0
    assert read_cameras(store) == [("gate", 1.0)]
    assert "'yard': its lists and retention are not used" in caplog.text
    with store.writer.database.writing() as connection:  # of another process
        connection.exec_driver_sql("UPDATE cameras SET retention_days = 7")
    store.write(ABC[1:2], [])
    assert read_cameras(store) == [("gate", 7.0)]


@ON_SQLITE
def test_one_event_is_tried_while_the_database_is_away_and_pauses_grow(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    now_s = 0.0
    store.writer.monotonic = lambda: now_s
    store.writer.pass_writer = pass_writer = PickyWriter("01234", AWAY)
    store.write([make_event(f"{at}") for at in range(5)], [])
    tried_s: list[float] = []
    for _ in range(200):
        now_s += 0.1
        before = len(pass_writer.tried)
        store.writer.replay()
        tried_s += [now_s] if len(pass_writer.tried) > before else []
    assert pass_writer.tried == ["01234", *(["0"] * len(tried_s))]
    pauses_s = [after - before for before, after in pairwise([0.0, *tried_s])]
    assert pauses_s == pytest.approx([0.5, 1.0, 2.0, 4.0, 5.0, 5.0], abs=0.11)
    assert (store.writer.is_database_up, store.writer.last_error) == (False, str(AWAY))

    pass_writer.failing = set()
    now_s += 10
    pass_writer.tried.clear()
    assert store.writer.replay() == 0
    assert pass_writer.tried == ["0", "1234"]
    away_since, back = (record.message for record in caplog.records if "passes" in record.message)
    assert away_since == f"passes wait in {store.writer.spool.folder}: the database is away"
    assert back == "passes can be kept again; 4 events wait in the spool"
    assert (store.writer.is_database_up, store.writer.last_error) == (True, "")
    assert store.writer.spool.counts.replayed == 5


@ON_SQLITE
@pytest.mark.parametrize(
    ("error", "traces"),
    [
        pytest.param(AWAY, [False], id="known"),
        pytest.param(KeyError("a bug"), [True, True], id="a fault of ours"),
    ],
)
def test_a_fault_of_ours_is_logged_each_time_with_its_traceback(
    store: PassStore, caplog: pytest.LogCaptureFixture, error: Exception, traces: list[bool]
) -> None:
    store.writer.pass_writer = PickyWriter("a", error)
    store.write(ABC[:1], [])
    store.writer.monotonic = lambda: 1e9
    store.writer.replay()

    records = [record for record in caplog.records if "passes wait in" in record.message]
    assert [bool(record.exc_info) for record in records] == traces
    assert str(error) in store.writer.last_error


@ON_SQLITE
def test_new_events_wait_two_seconds_for_those_of_the_spool(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0

    class SlowWriter(PickyWriter):
        def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
            nonlocal now_s
            now_s += REPLAY_S
            super().write(connection, events, kept_s)

    monkeypatch.setattr(buffered_writer, "BATCH", 1)
    store.writer.monotonic = lambda: now_s
    store.writer.pass_writer = slow_writer = SlowWriter("abc", AWAY)
    store.write(ABC, [])
    slow_writer.failing = set()
    now_s += 10

    assert store.replay_spool() == 2
