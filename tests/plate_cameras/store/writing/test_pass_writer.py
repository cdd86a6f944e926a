"""Rows that events cause in the tables of both databases."""

from dataclasses import replace

import pytest

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
from tests.plate_cameras.store.stored_events import (
    NOW_S,
    Kind,
    make_event,
    read_rows,
    with_pictures,
)

STORED_S = NOW_S + 1


def address_event(event: PassEvent, *sinks: str) -> AddressedEvent:
    return AddressedEvent(event, sinks, STORED_S, "run")


def write(
    database: Database, *events: PassEvent, sinks: tuple[str, ...] = (), kept_s: float | None = None
) -> None:
    """Write events in one transaction."""
    writer = PassWriter(clock=lambda: NOW_S)
    with database.writing() as connection:
        writer.write(connection, [address_event(event, *sinks) for event in events], kept_s)


def see(kind: Kind, at_s: float, text: str = "A123BC77", pass_id: str = "a") -> PassEvent:
    """Return an event of a pass that was last seen at a time after NOW_S."""
    return make_event(pass_id, text, kind, last_seen_s=NOW_S + at_s)


def claim(event: PassEvent, epoch: int, *, camera: str = "gate") -> PassEvent:
    vehicle_pass = replace(event.vehicle_pass, camera=camera)
    return replace(event, vehicle_pass=vehicle_pass, claim=LeaseClaim(epoch, is_certain=True))


@pytest.mark.parametrize(
    ("events", "numbers"),
    [
        pytest.param([], "", id="no events"),
        pytest.param([see("agreed", 0), see("updated", 1)], "1", id="of the last event"),
        pytest.param([see("closed", 1), see("updated", 0)], "0", id="of that which closed it"),
        pytest.param([see("agreed", 0, pass_id="b"), see("agreed", 0)], "10", id="by their ids"),
        pytest.param(
            [claim(see("agreed", 0), 1), claim(see("updated", 1), 2)],
            "01",
            id="two leases, of which one may be rejected",
        ),
    ],
)
def test_the_pictures_that_will_be_shown_are_kept(events: list[PassEvent], numbers: str) -> None:
    addressed_events = [
        address_event(with_pictures(event, b"%d" % at, b"frame %d" % at))
        for at, event in enumerate(events)
    ]
    pictures = [picture for at in numbers.encode() for picture in (b"%c" % at, b"frame %c" % at)]
    assert PassWriter().pictures(addressed_events) == pictures


@pytest.mark.parametrize(
    ("first", "second", "is_news"),
    [
        pytest.param(see("agreed", 0), ("updated", 1), True, id="open and newer"),
        pytest.param(see("agreed", 0), ("updated", 0), True, id="open and of the same frame"),
        pytest.param(see("agreed", 0), ("updated", -1), False, id="open and older"),
        pytest.param(see("agreed", 0), ("closed", 1), True, id="closed now"),
        pytest.param(see("agreed", 0), ("closed", -1), True, id="closed by what was seen before"),
        pytest.param(see("closed", 0), ("closed", 1), True, id="closed again, later"),
        pytest.param(see("closed", 0), ("closed", 0), True, id="closed again"),
        pytest.param(see("closed", 0), ("closed", -1), False, id="closed again, earlier"),
        pytest.param(see("closed", 0), ("updated", 1), False, id="open after it was closed"),
    ],
)
def test_a_newer_event_replaces_the_pass_and_is_logged(
    database: Database, first: PassEvent, second: tuple[Kind, float], is_news: bool
) -> None:
    write(database, first)
    write(database, see(*second, text="B777BB77"))

    [(text,)] = read_rows(database, passes.c.text)
    assert text == ("B777BB77" if is_news else "A123BC77")
    assert {row[0] for row in read_rows(database, readings.c.text)} == {text}
    kinds = [first.kind, second[0]] if is_news else [first.kind]
    assert [
        kind for _, kind in read_rows(database, pass_changes.c.number, pass_changes.c.kind)
    ] == kinds


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        pytest.param("agreed", ("updated", -1), 2, id="older, of an open pass"),
        pytest.param("closed", ("updated", 1), 1, id="after the pass was closed"),
        pytest.param("closed", ("agreed", 1), 1, id="agreed after the pass was closed"),
        pytest.param("agreed", ("closed", -1), 2, id="closed by an older event"),
        pytest.param("closed", ("closed", 1), 1, id="told before"),
        pytest.param("closed", ("closed", 0), 0, id="its end is told if no sink wanted it before"),
    ],
)
def test_nothing_is_told_of_a_pass_after_its_end(
    database: Database, first: Kind, second: tuple[Kind, float], count: int
) -> None:
    write(database, see(first, 0), sinks=("erp",) if count else ())
    write(database, see(*second), sinks=("erp",))
    assert len(read_rows(database, deliveries.c.id)) == max(count, 1)


def test_a_picture_that_no_pass_shows_any_more_is_to_be_removed(database: Database) -> None:
    write(database, with_pictures(see("agreed", 0), b"first", b"whole"))
    write(database, with_pictures(see("updated", 1), b"second", b"whole"))
    assert read_rows(database, picture_removals.c.digest) == [(digest_of(b"first"),)]

    write(database, with_pictures(see("closed", 2), b"third", b""))
    digests = {row[0] for row in read_rows(database, picture_removals.c.digest)}
    assert digests == {digest_of(picture) for picture in (b"first", b"second", b"whole")}
