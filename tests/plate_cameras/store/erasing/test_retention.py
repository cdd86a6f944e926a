"""Retention with a moved clock, alike in both databases."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Camera
from plate_cameras.store.erasing import retention
from plate_cameras.store.erasing.retention import in_steps
from plate_cameras.store.errors import StoreUnavailable, UnknownName
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import searches
from plate_cameras.store.tables.store_clock import Moment
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    REQUESTER,
    WEBHOOK,
    find_ids,
    make_event,
    read_rows,
    with_pictures,
)


def test_passes_and_all_that_belongs_to_them_are_kept_for_thirty_days(store: PassStore) -> None:
    store.write([make_event("a", first_seen_s=NOW_S)], [WEBHOOK])
    crop = store.get("a", REQUESTER).found_pass.crop or ""
    assert store.delete_expired(NOW_S + 30 * DAY_S).passes == 0
    counts = store.delete_expired(NOW_S + 30 * DAY_S + 2)
    assert (counts.passes, counts.pictures) == (1, 2)
    assert find_ids(store, PassQuery()) == []
    assert store.outbox.claim("webhook", 9, NOW_S, 60) == []
    assert find_ids(store, PassQuery(parts=("123",))) == []
    with pytest.raises(UnknownName):
        store.picture(crop)


def test_a_camera_may_have_its_own_time(store: PassStore) -> None:
    store.configure([Camera("yard", "rtsp://yard", retention_days=1)])
    store.write([make_event("a"), make_event("b", camera="yard")], [])
    store.delete_expired(NOW_S + 2 * DAY_S)

    assert find_ids(store, PassQuery()) == ["a"]


@pytest.mark.parametrize(
    ("days", "kept"),
    [
        pytest.param((1.0, None), "", id="shorter than the camera's"),
        pytest.param((60.0, None), "ab", id="longer"),
        pytest.param((1.0, 60.0), "ab", id="the longer one of two"),
        pytest.param((None, None), "ab", id="none"),
    ],
)
def test_a_list_may_have_its_own_time(
    store: PassStore, days: tuple[float | None, float | None], kept: str
) -> None:
    store.lists.create("one", retention_days=days[0])
    store.lists.create("two", retention_days=days[1])
    store.lists.put("one", [ListEntry("A123BC77")])
    store.lists.put("two", [ListEntry("A123BC77")])
    store.configure([Camera("gate", "rtsp://gate", lists=("one", "two"))])
    store.write([make_event("a"), make_event("b")], [])
    store.delete_expired(NOW_S + 2 * DAY_S)

    assert "".join(sorted(find_ids(store, PassQuery()))) == kept


def test_a_picture_stays_while_another_pass_shows_it(store: PassStore) -> None:
    first, second = make_event("a"), make_event("b", first_seen_s=NOW_S + DAY_S)
    store.write([first, with_pictures(second, b"crop b", first.vehicle_pass.best.frame_jpeg)], [])
    frame = store.get("a", REQUESTER).found_pass.frame or ""

    assert store.delete_expired(NOW_S + 30 * DAY_S + 60).pictures == 1
    assert store.picture(frame) == b"frame a"
    assert store.delete_expired(NOW_S + 32 * DAY_S).pictures == 2


def test_finished_deliveries_are_kept_for_a_week(store: PassStore) -> None:
    store.write([make_event("a"), make_event("b")], [WEBHOOK])
    store.outbox.confirm(store.outbox.claim("webhook", 1, NOW_S, 60), NOW_S)

    assert store.delete_expired(NOW_S + 6 * DAY_S).deliveries == 0
    assert store.delete_expired(NOW_S + 8 * DAY_S).deliveries == 1
    assert store.outbox.replay("webhook", 0, NOW_S) == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # PostgreSQL does not try again
@pytest.mark.parametrize("fails", [[True], [False, True], [False, False, True]])
def test_no_pass_is_left_out_after_a_transaction_that_has_failed(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, fails: list[bool]
) -> None:
    events = [make_event(f"{at}", first_seen_s=NOW_S + at // 3) for at in range(9)]
    store.write(events, [])
    database = store.writer.database
    monkeypatch.setattr(retention, "BATCH", 3)
    write, failures = database.writing, iter(fails)

    @contextmanager
    def writing(*limits: float) -> Iterator[sa.Connection]:
        with write(*limits) as connection:
            yield connection
            if next(failures, False):
                raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(database, "writing", writing)
    retention.delete_old_passes(database, Moment(NOW_S + 31 * DAY_S), 30)

    assert find_ids(store, PassQuery()) == []


@dataclass
class FullDisk:
    """A database whose disk has room for transactions of few rows.

    Attributes:
        room: Most rows of a transaction.
        is_postgresql: True for PostgreSQL.
        steps: Most rows of each transaction, and `empty` for each emptying of the log.
    """

    room: int
    is_postgresql: bool = False
    steps: list[object] = field(default_factory=list)

    @contextmanager
    def writing(self, limit_s: float) -> Iterator[None]:
        del limit_s
        yield

    def empty_log(self) -> None:
        self.steps.append("empty")
        raise StoreUnavailable("the disk is full")

    def run(self, rows: int, most: int) -> int:
        def change_some(_: object, most: int, done: int) -> int:
            self.steps.append(most)
            if most > self.room:
                raise StoreUnavailable("the disk is full")
            return min(most, rows - done)

        return in_steps(self, change_some, most)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "most", "steps"),
    [
        pytest.param(0, 20, [20], id="no rows"),
        pytest.param(5, 20, [20], id="few rows"),
        pytest.param(40, 20, [20, 20, 20], id="no row after the last transaction"),
        pytest.param(5, 30, [30, "empty", 3, 3], id="no room for many"),
        pytest.param(2, 200, [200, "empty", 25, "empty", 3], id="room for few"),
    ],
)
def test_on_a_full_disk_transactions_become_smaller(
    rows: int, most: int, steps: Sequence[object]
) -> None:
    disk = FullDisk(room=20)
    assert disk.run(rows, most) == rows
    assert disk.steps == steps


@pytest.mark.parametrize(
    ("is_postgresql", "steps"),
    [
        pytest.param(False, [20, "empty", 2, "empty", 1], id="after a single row"),
        pytest.param(True, [20], id="in PostgreSQL"),
    ],
)
def test_without_any_room_the_deletion_fails(is_postgresql: bool, steps: Sequence[object]) -> None:
    disk = FullDisk(room=0, is_postgresql=is_postgresql)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        disk.run(5, 20)
    assert disk.steps == steps


def test_the_audit_has_a_time_of_its_own(
    url: str, opening: Callable[..., PassStore], database: Database
) -> None:
    short = opening(url, audit_days=10, clock=lambda: NOW_S)
    short.search(PassQuery(), REQUESTER)
    short.delete_expired(NOW_S + 9 * DAY_S)
    assert len(read_rows(database, searches.c.number)) == 1
    short.delete_expired(NOW_S + 11 * DAY_S)
    assert read_rows(database, searches.c.number) == []


def test_pictures_that_no_pass_shows_are_removed_after_a_day(
    store: PassStore, tmp_path: Path
) -> None:
    store.write([with_pictures(make_event("a", first_seen_s=time.time()), b"shown")], [])
    folder = tmp_path / "pictures/ab/cd"
    folder.mkdir(parents=True)
    for name in ("abcd" * 16 + ".jpg", ".new-x", "notes.txt"):
        (folder / name).write_bytes(b"old")
    written_s = (folder / "notes.txt").stat().st_mtime

    assert store.delete_expired(written_s + DAY_S / 2).pictures == 0
    assert len([*folder.iterdir()]) == 3
    assert store.delete_expired(written_s + 2 * DAY_S).pictures == 1
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]
