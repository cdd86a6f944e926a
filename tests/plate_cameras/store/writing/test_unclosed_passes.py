"""Passes of a watcher that died, in both databases."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Sink
from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.leases.camera_leases import read_clock
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import camera_leases, deliveries, readings
from plate_cameras.store.writing.addressed_events import address
from plate_cameras.store.writing.unclosed_passes import SETTLED_S, UnclosedPasses
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, WEBHOOK, make_event

CLAIM = LeaseClaim(1, True)


def take(database: Database, ago_s: float, epoch: int = 2) -> float:
    """Let a watcher take the camera at a time in the past; return that Unix time."""
    with database.writing() as connection:
        taken_s = read_clock(connection) - ago_s
        row = {"camera": "gate", "watcher": "next", "epoch": epoch, "expires_s": taken_s + 1e6}
        connection.execute(sa.insert(camera_leases).values({**row, "taken_s": taken_s}))
    return taken_s


def report(pass_id: str, at_s: float) -> PassEvent:
    return replace(make_event(pass_id, kind="agreed", first_seen_s=at_s), claim=CLAIM)


def states(store: PassStore) -> dict[str, str]:
    passes = store.search(PassQuery(), REQUESTER).passes
    return {found_pass.id: found_pass.progress for found_pass in passes}


def close_left(store: PassStore, watcher: str, sinks: Sequence[Sink]) -> int:
    events = store.unclosed_passes.of_former_owners(watcher)
    store.write(events, sinks)
    return len(events)


def test_what_a_dead_watcher_told_of_is_closed_as_it_was(
    store: PassStore, database: Database
) -> None:
    taken_s = take(database, ago_s=90)
    store.write([report("a", taken_s - 5)], [WEBHOOK])
    before = store.get("a", REQUESTER)
    assert close_left(store, "next", [WEBHOOK]) == 1
    after = store.get("a", REQUESTER)
    assert after.found_pass == replace(before.found_pass, progress="closed")
    assert (after.readings, after.hits) == (before.readings, before.hits)
    with database.reading() as connection:
        ids = connection.execute(sa.select(deliveries.c.id).order_by(deliveries.c.number))
        assert ids.scalars().all() == ["a_agreed_0", "a_closed_0"]
    assert close_left(store, "next", [WEBHOOK]) == 0


@pytest.mark.parametrize(
    ("clock", "ahead_s"), [("stream", -3600), ("wall", 40 * 86400), ("file", -3600)]
)
def test_the_clock_of_a_camera_keeps_no_pass_open(
    store: PassStore, database: Database, clock: str, ahead_s: float
) -> None:
    taken_s = take(database, ago_s=90)
    event = report("a", taken_s - 7 + ahead_s)
    store.write([replace(event, vehicle_pass=replace(event.vehicle_pass, clock=clock))], [])
    assert close_left(store, "next", []) == 1
    assert states(store) == {"a": "closed"}


@pytest.mark.parametrize("epoch", [1, 2])
def test_what_a_watch_without_leases_has_left_is_closed_by_the_next_owner(
    store: PassStore, database: Database, epoch: int
) -> None:
    take(database, 9e6, epoch)
    store.write([make_event("a", kind="agreed")], [])
    assert close_left(store, "next", []) == 1


@pytest.mark.parametrize(
    ("ago_s", "epoch", "watcher"),
    [
        pytest.param(30, 1, "next", id="the-camera-changed-hands-a-moment-ago"),
        pytest.param(-3600, 1, "next", id="it-did-so-in-the-future-of-a-clock-that-was-set"),
        pytest.param(90, 2, "next", id="its-own-pass"),
        pytest.param(90, 3, "next", id="a-pass-of-the-owner-after-it"),
        pytest.param(90, 1, "another", id="the-camera-of-another"),
    ],
)
def test_other_passes_stay_open(
    store: PassStore, database: Database, ago_s: float, epoch: int, watcher: str
) -> None:
    taken_s = take(database, ago_s)
    store.write([replace(report("a", taken_s - 5), claim=LeaseClaim(epoch, True))], [])
    assert close_left(store, watcher, []) == 0
    assert states(store) == {"a": "agreed"}


def test_the_next_owner_waits_by_its_own_clock_and_again_when_the_camera_came_back(
    database: Database, url: str, opening: Callable[..., PassStore]
) -> None:
    """The database's clock is an hour behind the moment at which the camera changed hands."""
    moment_s = [0.0]
    unclosed_passes = UnclosedPasses(database, clock=lambda: moment_s[0])
    opening(url).write([report("a", take(database, ago_s=-3600) - 5)], [])

    def left_after(age_s: float) -> list[tuple[str, str, str]]:
        moment_s[0] = age_s
        events = unclosed_passes.of_former_owners("next")
        return [
            (event.kind, event.vehicle_pass.id, event.vehicle_pass.progress) for event in events
        ]

    assert left_after(0.0) == []
    assert left_after(SETTLED_S - 1) == []
    assert left_after(SETTLED_S) == [("closed", "a", "closed")]
    with database.writing() as connection:
        connection.execute(sa.update(camera_leases).values(epoch=4))
    assert left_after(SETTLED_S) == []
    assert left_after(2 * SETTLED_S) == [("closed", "a", "closed")]


def test_a_pass_whose_readings_or_pictures_were_deleted_is_closed(
    store: PassStore, database: Database, tmp_path: Path
) -> None:
    taken_s = take(database, ago_s=90)
    store.write([report("a", taken_s - 5)], [])
    shutil.rmtree(tmp_path / "pictures")
    (event,) = store.unclosed_passes.of_former_owners("next")
    best = event.vehicle_pass.best
    assert (best.crop_jpeg, best.frame_jpeg) == (b"", b"")
    assert best.observation.time_s == taken_s - 4
    with database.writing() as connection:
        connection.execute(sa.delete(readings))

    assert close_left(store, "next", []) == 1
    assert store.get("a", REQUESTER).found_pass.best["box"] == [10.0, 20.0, 110.0, 45.0]


def test_a_picture_that_cannot_be_read_keeps_no_pass_open(
    store: PassStore, database: Database, tmp_path: Path
) -> None:
    taken_s = take(database, ago_s=90)
    store.write([report("a", taken_s - 5), report("b", taken_s - 5)], [])
    found_pass = store.get("a", REQUESTER).found_pass
    (file,) = (tmp_path / "pictures").rglob(f"{found_pass.crop}.jpg")
    file.unlink()
    file.mkdir()  # reading it fails with EISDIR, also for root
    assert close_left(store, "next", []) == 2
    assert states(store) == {"a": "closed", "b": "closed"}
    file.rmdir()
    file.write_bytes(b"crop a")  # as when the disk can be read again
    assert store.picture(store.get("a", REQUESTER).found_pass.crop or "") == b"crop a"


def test_a_closing_that_waits_in_the_spool_keeps_its_pictures(
    store: PassStore, database: Database
) -> None:
    store.write([report("a", take(database, ago_s=90) - 5)], [])
    before = store.get("a", REQUESTER).found_pass
    events = address(store.unclosed_passes.of_former_owners("next"), [], NOW_S)
    store.writer.spool.put(events)
    assert store.replay_spool() == 0
    assert store.get("a", REQUESTER).found_pass == replace(before, progress="closed")


@pytest.mark.parametrize("step_s", [-3600.0, 0.0, 3600.0])
def test_the_next_run_closes_what_a_killed_watch_has_left(
    url: str, opening: Callable[..., PassStore], step_s: float
) -> None:
    first_store = opening(url, clock=lambda: NOW_S)
    first_store.write([make_event("a", kind="agreed"), make_event("b")], [])
    first_store.close()
    store = opening(url, clock=lambda: NOW_S + step_s)
    store.write([make_event("own", kind="agreed")], [])
    assert [event.vehicle_pass.id for event in store.unclosed_passes.interrupted(["gate"])] == ["a"]
    assert store.unclosed_passes.interrupted(["yard"]) == []
    store.write(store.unclosed_passes.interrupted(["gate"]), [])
    assert states(store) == {"a": "closed", "b": "closed", "own": "agreed"}


def test_what_waited_in_the_spool_belongs_to_the_run_that_told_of_it(store: PassStore) -> None:
    (event,) = address([make_event("a", kind="agreed")], [], NOW_S, "the run before")
    store.writer.spool.put([event])
    assert store.replay_spool() == 0
    assert len(store.unclosed_passes.interrupted(["gate"])) == 1
