"""When a gate opens, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cameras.gates.conditions import (
    find_hit,
    first_readable_s,
    is_in_place,
    is_recent,
    is_settled,
)
from orchestrator.cameras.passes import LineCrossing
from orchestrator.cameras.store.list_lookup import ListEntry
from orchestrator.plates import Plate
from tests.cameras.gates.known_vehicles import NOW_S, TEXT, make_gate, make_list, make_passed

SHUNTING = (LineCrossing("stop", "right", 1.0), LineCrossing("stop", "left", 2.0))


@pytest.mark.parametrize(
    ("gate", "passed", "opens"),
    [
        pytest.param({}, {}, True, id="nothing-more-is-wanted"),
        pytest.param({"cameras": ("yard",)}, {}, False, id="another-camera"),
        pytest.param({"zones": ("entry",)}, {"zones": ("far", "entry")}, True, id="in-a-zone"),
        pytest.param({"zones": ("entry",)}, {"zones": ("far",)}, False, id="in-another-zone"),
        pytest.param({"zones": ("entry",)}, {"zones": ()}, False, id="in-no-zone"),
        pytest.param({"direction": "towards"}, {"direction": "towards"}, True, id="towards"),
        pytest.param({"direction": "towards"}, {"direction": "away"}, False, id="away"),
        pytest.param({"direction": "towards"}, {"direction": ""}, False, id="not-known-yet"),
        pytest.param({"lines": ("stop",)}, {"crossings": ()}, False, id="before-the-line"),
        pytest.param({"lines": ("stop",)}, {"crossings": SHUNTING}, True, id="beyond-the-line"),
        pytest.param({"lines": ("exit",)}, {"crossings": SHUNTING}, False, id="another-line"),
        pytest.param(
            {"lines": ("stop",), "side": "left"}, {"crossings": SHUNTING}, True, id="last-side"
        ),
        pytest.param(
            {"lines": ("stop",), "side": "right"}, {"crossings": SHUNTING}, False, id="went-back"
        ),
    ],
)
def test_a_vehicle_must_be_in_place(
    gate: dict[str, Any], passed: dict[str, Any], *, opens: bool
) -> None:
    assert is_in_place(make_gate(**gate), make_passed(**passed)) == opens


def test_two_frames_must_agree() -> None:
    assert is_settled(make_passed(looks=2), 0.9)
    assert not is_settled(make_passed(looks=1), 0.9)


def test_frames_that_read_something_else_do_not_agree() -> None:
    passed = make_passed(looks=2)
    other = Plate((0, 0, 9, 9), 0.9, "A128BC77", 0.9, format="ru_car")
    changed = replace(passed.observations[1], plate=other)

    assert not is_settled(replace(passed, observations=(passed.observations[0], changed)), 0.9)


def test_the_score_must_reach_the_threshold() -> None:
    assert is_settled(make_passed(text_score=0.9), 0.9)
    assert not is_settled(make_passed(text_score=0.89), 0.9)


def test_an_unreadable_plate_opens_nothing() -> None:
    assert not is_settled(make_passed(""), 0.0)
    assert find_hit(make_gate(fuzzy=True), [make_list(ListEntry("A123", edits=2))], "", 0) is None


@pytest.mark.parametrize(
    ("entry", "fuzzy", "edits"),
    [
        pytest.param(ListEntry(TEXT), False, 0, id="the-same-text"),
        pytest.param(ListEntry(TEXT, edits=1), False, 0, id="the-same-text-as-a-fuzzy-entry"),
        pytest.param(ListEntry("A128BC77", edits=1), False, None, id="one-other-character"),
        pytest.param(ListEntry("A128BC77", edits=1), True, 1, id="the-gate-allows-it"),
        pytest.param(ListEntry("A128BC77"), True, None, id="the-entry-does-not-allow-it"),
        pytest.param(ListEntry(TEXT, valid_until_s=NOW_S), False, None, id="expired"),
        pytest.param(ListEntry(TEXT, valid_from_s=NOW_S + 1), False, None, id="not-valid-yet"),
        pytest.param(ListEntry(TEXT, valid_until_s=NOW_S + 1), False, 0, id="still-valid"),
    ],
)
def test_an_entry_must_fit(entry: ListEntry, fuzzy: bool, edits: int | None) -> None:
    hit = find_hit(make_gate(fuzzy=fuzzy), [make_list(entry)], TEXT, NOW_S)

    assert (hit.edits if hit else None) == edits


def test_an_expired_entry_does_not_hide_a_fuzzy_one() -> None:
    known = make_list(ListEntry(TEXT, valid_until_s=1.0), ListEntry("A128BC77", edits=1))

    assert find_hit(make_gate(), [known], TEXT, NOW_S) is None
    hit = find_hit(make_gate(fuzzy=True), [known], TEXT, NOW_S)
    assert hit is not None
    assert hit.entry.text == "A128BC77"


@pytest.mark.parametrize(
    ("clock", "age_s", "is_new"),
    [
        pytest.param("wall", 10, True, id="a-moment-ago"),
        pytest.param("wall", 11, False, id="the-service-was-slow"),
        pytest.param("stream", 70, True, id="the-clock-of-the-stream-may-be-wrong"),
        pytest.param("stream", 71, False, id="more-than-it-may-be-wrong"),
        pytest.param("file", 10**9, True, id="a-file-has-no-time-of-day"),
    ],
)
def test_a_vehicle_of_an_old_frame_may_have_left(clock: str, age_s: float, is_new: bool) -> None:
    passed = make_passed(clock=clock)

    assert is_recent(passed, passed.last_seen_s + age_s) == is_new


def test_the_delay_counts_from_the_first_frame_that_shows_the_text() -> None:
    passed = make_passed(looks=3)
    other = replace(passed.observations[0], plate=Plate((0, 0, 9, 9), 0.9, "", 0.0))
    passed = replace(passed, observations=(other, *passed.observations[1:]))

    assert first_readable_s(passed) == passed.first_seen_s + 0.5
    assert first_readable_s(replace(passed, clock="file")) is None
