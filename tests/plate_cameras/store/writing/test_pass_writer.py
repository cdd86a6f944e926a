"""Rows that events cause in the tables of both databases."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import (
    deliveries,
    pass_changes,
    passes,
    picture_removals,
    readings,
)
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.pictures import digest_of
from tests.plate_cameras.store.stored_events import NOW_S, Kind, make_event

STORED_S = NOW_S + 1


def addressed(event: PassEvent, *sinks: str) -> AddressedEvent:
    return AddressedEvent(event, sinks, STORED_S, "run")


def write(
    database: Database, *events: PassEvent, sinks: tuple[str, ...] = (), kept_s: float | None = None
) -> None:
    """Write events in one transaction."""
    writer = PassWriter(clock=lambda: NOW_S)
    with database.writing() as connection:
        writer.write(connection, [addressed(event, *sinks) for event in events], kept_s)


def rows(database: Database, *columns: sa.Column[Any]) -> list[tuple[Any, ...]]:
    with database.reading() as connection:
        found = connection.execute(sa.select(*columns).order_by(*columns[0].table.primary_key))
        return [tuple(row) for row in found]


def seen(kind: Kind, at_s: float, text: str = "A123BC77", pass_id: str = "a") -> PassEvent:
    """Return an event of a pass that was last seen at a time after NOW_S."""
    return make_event(pass_id, text, kind, last_seen_s=NOW_S + at_s)


def shown(event: PassEvent, crop: bytes, frame: bytes = b"frame") -> PassEvent:
    """Return an event with these pictures."""
    best = replace(event.passed.best, crop_jpeg=crop, frame_jpeg=frame)
    return replace(event, passed=replace(event.passed, best=best))


def claimed(event: PassEvent, epoch: int, *, camera: str = "gate") -> PassEvent:
    passed = replace(event.passed, camera=camera)
    return replace(event, passed=passed, claim=LeaseClaim(epoch, is_certain=True))


@pytest.mark.parametrize(
    ("events", "pictures"),
    [
        pytest.param([], [], id="no events"),
        pytest.param(
            [shown(seen("agreed", 0), b"1"), shown(seen("updated", 1), b"2")],
            [b"2", b"frame"],
            id="those of the last event",
        ),
        pytest.param(
            [shown(seen("closed", 1), b"1"), shown(seen("updated", 0), b"2")],
            [b"1", b"frame"],
            id="those of the event that closed the pass",
        ),
        pytest.param(
            [
                shown(seen("agreed", 0, pass_id="b"), b"1", b"2"),
                shown(seen("agreed", 0, pass_id="a"), b"3", b"4"),
            ],
            [b"3", b"4", b"1", b"2"],
            id="two passes, by their ids",
        ),
        pytest.param(
            [
                shown(claimed(seen("agreed", 0), 1), b"1"),
                shown(claimed(seen("updated", 1), 2), b"2"),
            ],
            [b"1", b"frame", b"2", b"frame"],
            id="two leases, of which one may be rejected",
        ),
    ],
)
def test_the_pictures_that_will_be_shown_are_kept(
    events: list[PassEvent], pictures: list[bytes]
) -> None:
    assert PassWriter().pictures([addressed(event) for event in events]) == pictures


@pytest.mark.parametrize(
    ("first", "second", "is_news"),
    [
        pytest.param(seen("agreed", 0), ("updated", 1), True, id="open and newer"),
        pytest.param(seen("agreed", 0), ("updated", 0), True, id="open and of the same frame"),
        pytest.param(seen("agreed", 0), ("updated", -1), False, id="open and older"),
        pytest.param(seen("agreed", 0), ("closed", 1), True, id="closed now"),
        pytest.param(seen("agreed", 0), ("closed", -1), True, id="closed by what was seen before"),
        pytest.param(seen("closed", 0), ("closed", 1), True, id="closed again, later"),
        pytest.param(seen("closed", 0), ("closed", 0), True, id="closed again"),
        pytest.param(seen("closed", 0), ("closed", -1), False, id="closed again, earlier"),
        pytest.param(seen("closed", 0), ("updated", 1), False, id="open after it was closed"),
    ],
)
def test_a_newer_event_replaces_the_pass_and_is_logged(
    database: Database, first: PassEvent, second: tuple[Kind, float], is_news: bool
) -> None:
    write(database, first)
    write(database, seen(*second, text="B777BB77"))

    [(text,)] = rows(database, passes.c.text)
    assert text == ("B777BB77" if is_news else "A123BC77")
    assert {row[0] for row in rows(database, readings.c.text)} == {text}
    kinds = [first.kind, second[0]] if is_news else [first.kind]
    assert rows(database, pass_changes.c.kind) == [(kind,) for kind in kinds]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        pytest.param("agreed", ("updated", -1), 2, id="older, of an open pass"),
        pytest.param("closed", ("updated", 1), 1, id="after the pass was closed"),
        pytest.param("closed", ("agreed", 1), 1, id="agreed after the pass was closed"),
        pytest.param("agreed", ("closed", -1), 2, id="closed by an older event"),
        pytest.param("closed", ("closed", 1), 1, id="told before"),
    ],
)
def test_nothing_is_told_of_a_pass_after_its_end(
    database: Database, first: Kind, second: tuple[Kind, float], told: int
) -> None:
    write(database, seen(first, 0), sinks=("erp",))
    write(database, seen(*second), sinks=("erp",))
    assert len(rows(database, deliveries.c.id)) == told


def test_the_end_of_a_pass_is_told_if_no_sink_wanted_it_before(database: Database) -> None:
    write(database, seen("closed", 0))
    write(database, seen("closed", 0), sinks=("erp",))
    assert rows(database, deliveries.c.id) == [("a_closed_0",)]


def test_a_picture_that_no_pass_shows_any_more_is_to_be_removed(database: Database) -> None:
    write(database, shown(seen("agreed", 0), b"first", b"whole"))
    write(database, shown(seen("updated", 1), b"second", b"whole"))
    assert rows(database, picture_removals.c.digest) == [(digest_of(b"first"),)]

    write(database, shown(seen("closed", 2), b"third", b""))
    removed = {row[0] for row in rows(database, picture_removals.c.digest)}
    assert removed == {digest_of(one) for one in (b"first", b"second", b"whole")}
