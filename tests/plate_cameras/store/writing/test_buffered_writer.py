"""Events that cannot all be written: none is lost, and none stops the others."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import cameras
from plate_cameras.store.writing import buffered_writer
from plate_cameras.store.writing.buffered_writer import FIRST_PAUSE_S, REPLAY_S
from plate_cameras.store.writing.pass_writer import PassWriter
from tests.plate_cameras.store.stored_events import NOW_S, find_ids, make_event, read_rows
from tests.plate_cameras.store.writing.failing_writer import (
    ABC,
    AWAY,
    ON_SQLITE,
    PickyWriter,
    replay_at,
)


@ON_SQLITE
def test_a_database_that_goes_away_during_a_replay_loses_no_event(store: PassStore) -> None:
    """One event causes the first failure. After that, the database is away."""
    store.writer.pass_writer = pass_writer = PickyWriter("ab", AWAY, most=1)
    store.write(ABC[:2], [])
    assert replay_at(store, 1e9) == 2
    assert pass_writer.tried == ["ab", "ab", "a"]
    assert store.writer.last_error == "the database is away"


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

    class SlowPickyWriter(PickyWriter):
        def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
            nonlocal now_s
            now_s += REPLAY_S
            super().write(connection, events, kept_s)

    monkeypatch.setattr(buffered_writer, "BATCH", 1)
    store.writer.monotonic = lambda: now_s
    store.writer.pass_writer = slow_writer = SlowPickyWriter("abc", AWAY)
    store.write(ABC, [])
    slow_writer.failing = set()
    now_s += 10

    assert store.replay_spool() == 2
