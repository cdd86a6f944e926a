"""Events that the database rejects are put aside, and stop no others."""

from collections.abc import Callable
from typing import Any

import pytest

from plate_cameras.store.errors import StoreError
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.spool import Spool
from tests.plate_cameras.store.postgresql_server import QuickPostgres
from tests.plate_cameras.store.stored_events import WEBHOOK, find_ids, make_event
from tests.plate_cameras.store.writing.failing_writer import (
    ABC,
    ON_SQLITE,
    UNCLEAR,
    PickyWriter,
    replay_at,
)


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
    server: QuickPostgres, opening: Callable[..., PassStore], changes: dict[str, Any]
) -> None:
    store = opening(server.create_database(f"large_{next(iter(changes))}"))
    store.write([make_event("bad", **changes)], [WEBHOOK])
    store.write([make_event("good")], [WEBHOOK])

    assert find_ids(store, PassQuery()) == ["good"]
    assert store.writer.spool.counts.rejected == 1
