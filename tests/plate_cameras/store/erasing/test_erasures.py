"""For a day after the deletion of a plate, its earlier events are not stored."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.plates import Plate
from plate_cameras.passes import Pass, PassEvent
from plate_cameras.store.erasing import erasures
from plate_cameras.store.erasing.erasures import admit, find_erased, forget
from plate_cameras.store.erasing.plate_requests import select_ids_of
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.schema import erased_passes
from plate_cameras.store.writing.addressed_events import address
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    make_event,
    make_plate,
    read_column,
)

TEXT, OTHER, THIRD = "Y908XE77", "Y903XK77", "B007KM17"


def remember(store: PassStore, *texts: str, kept_s: float = NOW_S) -> list[int]:
    database = store.writer.database
    return [erasures.remember(database, text, select_ids_of(text), NOW_S, kept_s) for text in texts]


def admit_all(store: PassStore, *events: PassEvent) -> list[PassEvent]:
    with store.writer.database.writing() as connection:
        return [event.event for event in admit(connection, address(events, [], NOW_S))]


def find(store: PassStore, *texts: str) -> set[str]:
    with store.writer.database.reading() as connection:
        return find_erased(connection, texts)


def make_unread(pass_id: str, *texts: str) -> PassEvent:
    """Return an event of a pass without a text, with the readings of its frames."""
    event = make_event(pass_id)
    (look, _), best = event.vehicle_pass.observations, event.vehicle_pass.best
    looks = tuple(replace(look, plate=make_plate(text)) for text in texts)
    changes = {"text": "", "candidates": (), "observations": looks}
    best = replace(best, observation=looks[-1])
    return replace(event, vehicle_pass=replace(event.vehicle_pass, best=best, **changes))


def test_events_of_all_deleted_plates_are_dropped_and_others_stay_as_they_are(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    remember(store, TEXT, OTHER)
    caplog.set_level(logging.INFO)
    other = make_event("c", THIRD)
    assert admit_all(store, make_event("a", TEXT), make_event("b", OTHER), other) == [other]
    assert [record.getMessage() for record in caplog.records] == [
        "pass a: an event is not kept: its plate was deleted",
        "pass b: an event is not kept: its plate was deleted",
    ]


def test_an_unread_pass_is_dropped_if_one_of_its_frames_shows_the_plate(store: PassStore) -> None:
    remember(store, TEXT)
    other = make_unread("b", OTHER, THIRD)
    assert admit_all(
        store, make_unread("a", TEXT, OTHER), make_unread("c", OTHER, TEXT), other
    ) == [other]


@pytest.mark.parametrize(("late_s", "is_kept"), [(59.0, False), (60.0, True)])
def test_a_pass_that_begins_a_minute_after_the_deletion_is_a_new_one(
    store: PassStore, late_s: float, is_kept: bool
) -> None:
    remember(store, TEXT)
    event = make_event("a", TEXT, first_seen_s=NOW_S + late_s)
    assert admit_all(store, event) == [event] * is_kept


def test_an_event_of_a_deleted_pass_is_dropped_whenever_its_clock_says_that_it_began(
    store: PassStore,
) -> None:
    store.write([make_event("a", TEXT)], [])
    remember(store, TEXT)
    later = {"first_seen_s": NOW_S + 3600}
    new = make_event("b", TEXT, **later)
    assert admit_all(store, make_event("a", TEXT, **later), new) == [new]


def misread_in_a_frame(vehicle_pass: Pass, wrong: Plate) -> Pass:
    first, *rest = vehicle_pass.observations
    return replace(vehicle_pass, observations=(replace(first, plate=wrong), *rest))


def misread_in_the_best_frame(vehicle_pass: Pass, wrong: Plate) -> Pass:
    observation = replace(vehicle_pass.best.observation, plate=wrong)
    return replace(vehicle_pass, best=replace(vehicle_pass.best, observation=observation))


def misread_in_all(vehicle_pass: Pass, wrong: Plate) -> Pass:
    return replace(vehicle_pass, candidates=wrong.candidates)


NO_TEXT = {"text": "", "raw_text": "", "text_score": 0.0}


@pytest.mark.parametrize(
    ("wrong", "kept"),
    [
        pytest.param({"text": TEXT}, NO_TEXT, id="text"),
        pytest.param({"raw_text": TEXT}, NO_TEXT, id="raw text"),
        pytest.param(
            {"candidates": ((OTHER, 0.9), (TEXT, 0.1))},
            {"candidates": ((OTHER, 0.9),)},
            id="candidate",
        ),
        pytest.param({"text": THIRD}, {"text": THIRD}, id="other texts"),
    ],
)
@pytest.mark.parametrize("misread", [misread_in_a_frame, misread_in_the_best_frame, misread_in_all])
def test_another_vehicle_s_event_loses_the_text_wherever_it_was_misread(
    store: PassStore,
    wrong: dict[str, Any],
    kept: dict[str, Any],
    misread: Callable[[Pass, Plate], Pass],
) -> None:
    event, plate = make_event("a", OTHER), make_plate(OTHER)
    late, stored = (
        replace(event, vehicle_pass=misread(event.vehicle_pass, replace(plate, **fields)))
        for fields in (wrong, kept)
    )
    remember(store, TEXT)
    assert admit_all(store, late) == [stored]


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_all_passes_of_a_deleted_plate_are_remembered(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(erasures, "PASSES_AT_ONCE", at_once)
    names = {f"{at}" for at in range(5)}
    store.write([make_event(name, TEXT) for name in names], [])
    store.write([make_event("other", OTHER)], [])
    remember(store, TEXT, TEXT)
    assert {*read_column(store.writer.database, erased_passes.c.id)} == names


def test_finished_deletions_are_forgotten_after_a_day(store: PassStore) -> None:
    store.write([make_event("a", TEXT)], [])
    first, second = remember(store, TEXT, OTHER)
    database = store.writer.database
    erasures.note_done(database, first)
    for late_s, texts, ids in ((DAY_S, {TEXT, OTHER}, ["a"]), (DAY_S + 1, {OTHER}, [])):
        forget(database, NOW_S + late_s)
        assert find(store, TEXT, OTHER) == texts
        assert read_column(database, erased_passes.c.id) == ids
    erasures.note_done(database, second)
    forget(database, NOW_S + DAY_S + 1)
    assert find(store, OTHER) == set()


def test_a_deletion_is_unfinished_until_it_is_noted_as_done(store: PassStore) -> None:
    database = store.writer.database
    assert not erasures.are_unfinished(database)
    first, second, _ = remember(store, TEXT, OTHER, THIRD)
    erasures.note_done(database, first)
    erasures.note_done(database, second)
    assert erasures.are_unfinished(database)
    erasures.note_done(database)
    assert not erasures.are_unfinished(database)
