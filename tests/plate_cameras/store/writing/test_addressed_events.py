"""Events as files of the spool."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from plate_cameras.configuration import Camera, Schedule, Sink
from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.store_clock import StoreClock
from plate_cameras.store.writing.addressed_events import AddressedEvent, address, decode, encode
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, Kind, make_event
from tests.virtual_time import Clock

EVENT = AddressedEvent(make_event("a"), ("webhook", "file"), NOW_S)
BEST = replace(EVENT.vehicle_pass.best, crop_jpeg=b"", frame_jpeg=b"\n\n\x00")


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(EVENT, id="usual"),
        pytest.param(
            replace(EVENT, event=replace(EVENT.event, claim=LeaseClaim(3, True))), id="shared"
        ),
        pytest.param(
            replace(EVENT, event=make_event("a", observations=(), crossings=(), best=BEST)),
            id="empty parts and bytes like line ends",
        ),
    ],
)
def test_an_event_returns_as_it_was(event: AddressedEvent) -> None:
    assert decode(encode(event)) == event


def test_a_file_names_the_parts_of_an_event_as_other_versions_do() -> None:
    assert [*json.loads(encode(EVENT).split(b"\n")[0])["event"]] == ["kind", "claim", "passed"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(encode(EVENT)[:-1], id="a byte is missing"),
        pytest.param(encode(EVENT)[:100], id="cut in its first line"),
        pytest.param(b"[]\n", id="another document"),
        pytest.param(encode(EVENT).replace(b'"closed"', b'"opened"', 1), id="another kind"),
    ],
)
def test_a_damaged_file_is_told(content: bytes) -> None:
    with pytest.raises(RejectedValue, match="damaged"):
        decode(content)


CAMERAS = (Camera("gate", "", lists=("staff", "stolen")), Camera("yard", "", lists=("staff",)))
UNKNOWN_OR_STOLEN = {"unknown": True, "lists": ("stolen",)}
SKIPPED = Schedule(("sun",), "02:00", "03:00")
SUNDAY = Schedule(("sun",), "02:30", "03:00")
NIGHT = Schedule(start="22:00", end="06:00")


def make_sink(**conditions: Any) -> Sink:
    return replace(WEBHOOK, **conditions)


def send(store: PassStore, event: PassEvent, *sinks: Sink) -> list[str]:
    """Write an event; return the ids of passes whose deliveries are new."""
    store.write([event], sinks)
    deliveries = store.outbox.claim(WEBHOOK.name, 10, NOW_S + 1e6, 1e9)
    for delivery in deliveries:
        store.outbox.confirm([delivery], NOW_S)
    return [delivery.pass_id for delivery in deliveries]


@pytest.fixture
def listed_store(store: PassStore) -> PassStore:
    """A store with two lists that the gate looks up."""
    store.configure(CAMERAS)
    for name, text in (("staff", "A123BC77"), ("stolen", "B777BB77")):
        store.lists.create(name, "")
        store.lists.import_csv(name, f"text,note\n{text},\n")
    return store


@pytest.mark.parametrize(
    ("conditions", "changes", "is_sent"),
    [
        pytest.param({}, {}, True, id="none"),
        pytest.param({"zones": ("drive", "yard")}, {}, True, id="zone"),
        pytest.param({"zones": ("yard",)}, {}, False, id="other zone"),
        pytest.param({"direction": "towards"}, {}, True, id="direction"),
        pytest.param({"direction": "towards"}, {"direction": ""}, False, id="no direction yet"),
        pytest.param({"cameras": ("yard",)}, {}, False, id="other camera"),
        pytest.param({"text_threshold": 0.98}, {}, True, id="score"),
        pytest.param({"text_threshold": 0.99}, {}, False, id="low score"),
        pytest.param({"text_threshold": 0.1}, {"text": ""}, False, id="not read"),
        pytest.param({"lists": ("staff",)}, {}, True, id="list"),
        pytest.param({"lists": ("stolen",)}, {}, False, id="other list"),
        pytest.param({"unknown": True}, {}, False, id="known"),
        pytest.param({"unknown": True}, {"text": "M456OP199"}, True, id="unknown"),
        pytest.param({"unknown": True}, {"text": ""}, False, id="not read, not unknown"),
        pytest.param(UNKNOWN_OR_STOLEN, {"text": "B777BB77"}, True, id="listed or not"),
        pytest.param(UNKNOWN_OR_STOLEN, {"text": "A123BC77"}, False, id="but not staff"),
        pytest.param({"unknown": True, "zones": ("yard",)}, {"text": "M456OP199"}, False, id="all"),
    ],
)
def test_an_event_is_sent_if_every_condition_holds(
    listed_store: PassStore, conditions: dict[str, Any], changes: dict[str, Any], is_sent: bool
) -> None:
    event = make_event("a", **changes)
    assert send(listed_store, event, make_sink(**conditions)) == ["a"] * is_sent


@pytest.mark.parametrize("is_slow", [False, True], ids=["at once", "through the spool"])
def test_a_plate_is_sent_once_in_a_time(
    opening: Callable[..., PassStore], url: str, clock: Clock, is_slow: bool
) -> None:
    store, once = opening(url, clock=clock), make_sink(hold_off_s=600.0)
    event = make_event("a", kind="agreed")
    assert send(store, event, once) == ["a"]
    events = [make_event("a"), make_event("b"), make_event("c", "B777BB77"), make_event("d", "")]
    events += [make_event("e", "B777BB77"), make_event("f", "")]
    clock.now_s = NOW_S + 300
    addressed_events = address(events, [once], NOW_S + 300)
    if is_slow:
        addressed_events = [decode(encode(event)) for event in addressed_events]
        clock.now_s = NOW_S + 601
    store.writer.write(addressed_events)
    assert claim(store) == ["c", "d", "f"]
    store.writer.write(address([make_event("g")], [once], NOW_S + 599))
    assert claim(store) == []
    clock.now_s = NOW_S + 601
    store.writer.write(address([make_event("h")], [once], NOW_S + 601))
    assert claim(store) == ["h"]


def claim(store: PassStore) -> list[str]:
    """Return the ids of passes whose deliveries are new."""
    deliveries = store.outbox.claim(WEBHOOK.name, 10, NOW_S + 1e6, 1e9)
    return [delivery.pass_id for delivery in deliveries]


@pytest.mark.parametrize("step_s", [-86400.0, -3600.0, 3600.0, 40 * 86400.0])
def test_a_step_of_the_wall_clock_changes_no_hold_off(
    opening: Callable[..., PassStore], url: str, clock: Clock, step_s: float
) -> None:
    steady, once = Clock(1000.0), make_sink(hold_off_s=600.0)

    def make_clock(database: Database) -> StoreClock:
        return StoreClock(database, wall=clock, steady=steady, boot="this")

    def write_after(seconds: float, pass_id: str) -> list[str]:
        clock.now_s += seconds
        steady.now_s += seconds
        store.write([make_event(pass_id)], [once])
        return claim(store)

    store = opening(url, clock=clock, make_clock=make_clock)
    assert write_after(0.0, "a") == ["a"]
    clock.now_s += step_s
    assert write_after(300.0, "b") == []
    assert write_after(301.0, "c") == ["c"]
    clock.now_s -= step_s
    assert write_after(300.0, "d") == []
    assert write_after(301.0, "e") == ["e"]


def test_only_what_a_sink_has_had_counts(listed_store: PassStore) -> None:
    once = make_sink(hold_off_s=600.0, lists=("stolen",))
    other = make_sink(name="other")
    assert send(listed_store, make_event("a", kind="agreed"), once, other) == []
    event = make_event("a", "B777BB77", kind="updated")
    assert send(listed_store, event, once) == ["a"]
    assert send(listed_store, make_event("b", "B777BB77"), once) == []


def test_a_given_up_event_holds_up_nothing(store: PassStore) -> None:
    once = make_sink(hold_off_s=600.0)
    store.write([make_event("a")], [once])
    (delivery,) = store.outbox.claim(WEBHOOK.name, 1, NOW_S + 1e6, 1e9)
    store.outbox.abandon(delivery, "gone", NOW_S)
    assert send(store, make_event("b"), once) == ["b"]


def test_a_restart_forgets_nothing(opening: Callable[..., PassStore]) -> None:
    for pass_id, ids in (("a", ["a"]), ("b", [])):
        store = opening(clock=lambda: NOW_S)
        assert send(store, make_event(pass_id), make_sink(hold_off_s=60.0)) == ids
        store.close()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's time zone is one with daylight saving."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("schedule", "utc", "is_sent"),
    [
        pytest.param(NIGHT, "2026-11-27T20:59+00:00", False, id="winter: 21:59"),
        pytest.param(NIGHT, "2026-11-27T21:00+00:00", True, id="winter: 22:00"),
        pytest.param(NIGHT, "2026-06-27T20:00+00:00", True, id="summer: 22:00"),
        pytest.param(NIGHT, "2026-06-28T03:59+00:00", True, id="after midnight"),
        pytest.param(NIGHT, "2026-06-28T04:00+00:00", False, id="at the end"),
        pytest.param(SUNDAY, "2026-10-25T00:30+00:00", True, id="02:30 first"),
        pytest.param(SUNDAY, "2026-10-25T01:30+00:00", True, id="02:30 again"),
        pytest.param(SKIPPED, "2026-03-29T01:00+00:00", False, id="skipped hour"),
    ],
)
@pytest.mark.usefixtures("berlin")
def test_hours_are_those_in_which_the_vehicle_was_seen(
    schedule: Schedule, utc: str, is_sent: bool
) -> None:
    seen_s = datetime.fromisoformat(utc).timestamp()
    event = make_event("a", last_seen_s=seen_s)
    (addressed_event,) = address([event], [make_sink(schedule=schedule)], NOW_S)
    assert bool(addressed_event.sinks) is is_sent


@pytest.mark.parametrize("kind", ["agreed", "updated", "closed"])
def test_a_spooled_event_keeps_the_conditions_of_its_sinks(kind: Kind) -> None:
    sinks = [make_sink(lists=("stolen",), unknown=True, hold_off_s=60.0), make_sink(name="all")]
    (addressed_event,) = address([make_event("a", kind=kind)], sinks, NOW_S)
    assert [*addressed_event.conditions] == [WEBHOOK.name]
    assert decode(encode(addressed_event)) == addressed_event
