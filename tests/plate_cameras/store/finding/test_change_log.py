"""The log of changes: each event of a pass is read once, even if transactions overlap."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count

import pytest
import sqlalchemy as sa

from plate_cameras.store.erasing.retention import CHANGES_S
from plate_cameras.store.finding.change_log import PAGE, ChangeReader, delete_changes
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import pass_changes, passes
from tests.plate_cameras.store.postgresql_server import QuickPostgres
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event
from tests.waiting import until

NUMBERS = count()


def read(reader: ChangeReader) -> list[tuple[str, str]]:
    return [(change.kind, change.found_pass.id) for change in reader.read()]


def test_events_are_read_once_in_their_order(store: PassStore) -> None:
    store.write([make_event("before")], [])
    reader = ChangeReader(store.changes)
    assert read(reader) == []

    store.write([make_event("a", kind="agreed"), make_event("b"), make_event("a")], [])
    assert read(reader) == [("agreed", "a"), ("closed", "b"), ("closed", "a")]
    store.write([make_event("a", kind="updated", last_seen_s=NOW_S - 90)], [])  # older
    assert read(reader) == []


def test_numbers_are_not_used_again_after_a_deletion(store: PassStore) -> None:
    store.write([make_event("a", text="A123BC77")], [])
    reader = ChangeReader(store.changes)
    last = reader.last
    store.delete_plate("A123BC77", REQUESTER)
    store.write([make_event("b", text="B777BB77")], [])
    assert read(reader) == [("closed", "b")]
    assert reader.last > last


def test_a_number_that_was_rolled_back_is_not_waited_for(
    store: PassStore, database: Database
) -> None:
    store.write([make_event("a")], [])
    reader = ChangeReader(store.changes)
    later = reader.last + 2
    skip_a_number(database, later)
    assert [change.number for change in reader.read()] == [later]
    until(lambda: reader.read() == [] and reader.settled == later, "a reader that has settled")


def test_a_listener_can_tell_whether_changes_were_deleted(store: PassStore) -> None:
    store.write([make_event("a"), make_event("b")], [])
    last = store.changes.newest()
    assert store.changes.has_all_after(last - 2)
    store.delete_expired(NOW_S + CHANGES_S + 1)
    assert not store.changes.has_all_after(0)
    assert not store.changes.has_all_after(last - 1)
    assert store.changes.has_all_after(last)
    assert store.changes.newest() == last
    store.write([make_event("c")], [])
    assert store.changes.has_all_after(last)
    assert not store.changes.has_all_after(last + 2)


def test_an_earlier_deletion_does_not_lower_what_is_gone(
    store: PassStore, database: Database
) -> None:
    """The clock was set back between two changes, so the later change has the earlier time."""
    store.write([make_event("a"), make_event("b")], [])
    last = store.changes.newest()
    with database.writing() as connection:
        newer = {"time_s": sa.case((pass_changes.c.number == last, NOW_S - 60), else_=NOW_S)}
        connection.execute(sa.update(pass_changes).values(newer))
    for until_s in (NOW_S, NOW_S + 1):
        with database.writing() as connection:
            assert delete_changes(connection, pass_changes.c.time_s < until_s, 10) == 1
    assert store.changes.has_all_after(last)
    assert not store.changes.has_all_after(last - 1)


def test_more_changes_than_a_page_are_read_page_by_page(store: PassStore) -> None:
    reader = ChangeReader(store.changes)
    store.write([make_event(f"p{number}") for number in range(PAGE + 1)], [])
    first, second = reader.read(), reader.read()
    assert (len(first), len(second)) == (PAGE, 1)
    assert [change.settled for change in first] == [change.number for change in first]


def skip_a_number(database: Database, number: int) -> None:
    with database.writing() as connection:
        pass_number = connection.scalar(sa.select(passes.c.number))
        row = {"number": number, "pass_number": pass_number, "kind": "closed", "time_s": NOW_S}
        connection.execute(sa.insert(pass_changes).values(row))


@pytest.fixture
def overlapping(
    server: QuickPostgres, opening: Callable[..., PassStore]
) -> Iterator[tuple[PassStore, Database]]:
    """Return a store in PostgreSQL with the passes `slow` and `quick`, and more connections."""
    url = server.create_database(f"overlapping_{next(NUMBERS)}")
    store = opening(url, clock=lambda: NOW_S)
    store.write([make_event("slow"), make_event("quick")], [])
    with closing(Database(url)) as database:
        yield store, database


@pytest.mark.server
def test_a_transaction_that_commits_late_is_not_missed(
    overlapping: tuple[PassStore, Database],
) -> None:
    """Two transactions overlap: the one with the lower number commits last."""
    store, database = overlapping
    reader = ChangeReader(store.changes)
    with database.engine.connect() as slow, database.engine.connect() as quick:
        log(slow, "slow")
        log(quick, "quick")
        quick.commit()
        (first,) = reader.read()
        assert first.found_pass.id == "quick"
        assert first.settled == first.number - 2  # a listener that begins again gets both
        slow.commit()
        (second,) = reader.read()
        assert second.found_pass.id == "slow"
        assert second.number == first.number - 1
    assert reader.read() == []
    until(lambda: reader.read() == [] and reader.settled == first.number, "a settled reader")


def log(connection: sa.Connection, pass_id: str) -> None:
    number = sa.select(passes.c.number).where(passes.c.id == pass_id).scalar_subquery()
    row = {"pass_number": number, "kind": "closed", "time_s": NOW_S}
    connection.execute(sa.insert(pass_changes).values(row))


@pytest.mark.server
def test_a_reader_waits_for_a_slow_transaction_as_long_as_it_is_open(
    overlapping: tuple[PassStore, Database],
) -> None:
    """A slow transaction has no timeout: its changes are reported even after many reads."""
    store, database = overlapping
    reader = ChangeReader(store.changes)
    with database.engine.connect() as slow:
        log(slow, "slow")
        log(slow, "slow")
        store.write([make_event("later"), make_event("last")], [])
        assert read(reader) == [("closed", "later"), ("closed", "last")]
        assert [reader.read() for _ in range(50)] == [[]] * 50
        assert reader.settled == reader.last - 4
        slow.commit()
    assert read(reader) == [("closed", "slow"), ("closed", "slow")]
    until(lambda: reader.read() == [] and reader.settled == reader.last, "a settled reader")


@pytest.mark.server
def test_a_gap_is_filled_part_by_part(overlapping: tuple[PassStore, Database]) -> None:
    store, database = overlapping
    reader = ChangeReader(store.changes)
    with database.engine.connect() as first, database.engine.connect() as second:
        log(first, "slow")
        log(second, "quick")
        log(first, "slow")
        store.write([make_event("last")], [])
        assert read(reader) == [("closed", "last")]
        second.commit()
        assert read(reader) == [("closed", "quick")]
        first.commit()
        assert read(reader) == [("closed", "slow"), ("closed", "slow")]
    assert reader.read() == []


@pytest.mark.server
def test_a_reader_that_begins_between_two_commits_misses_none(
    overlapping: tuple[PassStore, Database],
) -> None:
    store, database = overlapping
    with database.engine.connect() as slow, database.engine.connect() as quick:
        log(slow, "slow")
        log(quick, "quick")
        quick.commit()
        reader = ChangeReader(store.changes)
        slow.commit()
    assert read(reader) == [("closed", "slow")]
