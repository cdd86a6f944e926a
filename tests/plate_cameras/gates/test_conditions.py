"""Conditions for the opening of a gate, with results worked out by hand."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from orchestrator.plates import Plate
from plate_cameras.configuration import Schedule
from plate_cameras.gates.conditions import (
    Circumstances,
    PresentPass,
    decide,
    find_hit,
    first_readable_s,
    is_in_place,
    is_settled,
)
from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.reasons import REASONS, Reason, read_reason, to_sentence
from plate_cameras.passes import LineCrossing
from plate_cameras.store.lists.list_lookup import ListEntry
from tests.plate_cameras.gates.known_vehicles import (
    NOW_S,
    TEXT,
    make_gate,
    make_list,
    make_pass,
    remember_opening,
)

SHUNTING = (LineCrossing("stop", "right", 1.0), LineCrossing("stop", "left", 2.0))


@pytest.mark.parametrize(
    ("gate", "changes", "opens"),
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
    gate: dict[str, Any], changes: dict[str, Any], *, opens: bool
) -> None:
    assert is_in_place(make_gate(**gate), make_pass(**changes)) == opens


def test_an_unreadable_plate_opens_nothing() -> None:
    assert not is_settled(make_pass(""), 0.0)
    assert decide(make_gate(), make_present(text=""), look_around()).code == "left"
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
        pytest.param(ListEntry(TEXT, valid_until_s=NOW_S + 1), False, 0, id="still-valid"),
    ],
)
def test_an_entry_must_fit(entry: ListEntry, fuzzy: bool, edits: int | None) -> None:
    hit = find_hit(make_gate(fuzzy=fuzzy), [make_list(entry)], TEXT, NOW_S)
    assert (hit.edits if hit else None) == edits


def test_the_nearest_entry_of_all_lists_counts() -> None:
    lists = [make_list(ListEntry("A128BC70", edits=2)), make_list(ListEntry("A128BC77", edits=1))]
    hits = [
        find_hit(make_gate(fuzzy=True), ordered_lists, TEXT, NOW_S)
        for ordered_lists in (lists, lists[::-1])
    ]
    assert [hit and hit.entry.text for hit in hits] == ["A128BC77", "A128BC77"]


def make_present(**changes: Any) -> PresentPass:
    vehicle_pass = make_pass(**changes)
    return PresentPass(vehicle_pass, seen_s=NOW_S, settled_text=vehicle_pass.text)


def look_around(*entries: ListEntry, **changes: Any) -> Circumstances:
    """Return circumstances in which the vehicle of the tests may enter."""
    return replace(
        Circumstances(
            steady_s=NOW_S,
            unix_s=NOW_S,
            local=datetime(2026, 11, 26, 12, 0),
            lists=[make_list(*entries)],
            lists_age_s=0.0,
            hold_offs=HoldOffs(),
        ),
        **changes,
    )


ASKED = remember_opening(9999, pass_id="pass-1")
LATER, NOW = Schedule(start="13:00", end="14:00"), Schedule(start="12:00", end="14:00")
NEAR, OVER = ListEntry("A128BC77", edits=1), ListEntry(TEXT, valid_until_s=NOW_S)
OTHER = ListEntry("M456OP199")


@pytest.mark.parametrize(
    ("gate", "now", "code"),
    [
        pytest.param({}, {}, "", id="opens"),
        pytest.param({"cameras": ("yard",)}, {}, "moved", id="another-camera"),
        pytest.param({"lists": ("staff",)}, {"lists": []}, "unlisted", id="no-list"),
        pytest.param({}, {"hold_offs": ASKED}, "asked", id="again"),
        pytest.param({"schedule": LATER}, {}, "schedule", id="early"),
        pytest.param({"schedule": NOW}, {}, "", id="in-time"),
        pytest.param({}, {"blocked_lists": [make_list()]}, "blocked", id="blocked"),
        pytest.param({}, {"blocked_lists": [make_list(NEAR)]}, "blocked", id="nearly-blocked"),
        pytest.param({}, {"blocked_lists": [make_list(OVER)]}, "", id="no-longer-blocked"),
        pytest.param({"blocked_lists": ("stolen",)}, {}, "no_blocked_list", id="blocks-unknown"),
        pytest.param(
            {"blocked_lists": ("residents",)}, {"blocked_lists": [make_list(OTHER)]}, "",
            id="blocks-others",
        ),
        pytest.param({"stale_lists_s": 60.0}, {"lists_age_s": 60.0}, "", id="fresh"),
        pytest.param({"stale_lists_s": 60.0}, {"lists_age_s": 60.1}, "stale_lists", id="stale"),
        pytest.param({"agreement_threshold": 0.97}, {}, "", id="score-reached"),
        pytest.param({"agreement_threshold": 0.98}, {}, "score", id="score-too-low"),
        pytest.param({}, {"hold_offs": remember_opening(59.9)}, "hold_off", id="held-off"),
        pytest.param({}, {"hold_offs": remember_opening(60)}, "", id="hold-off-over"),
        pytest.param({}, {"hold_offs": remember_opening(entry_text="", text="B")}, "", id="other"),
        pytest.param({}, {"hold_offs": remember_opening(text="A")}, "hold_off", id="same-entry"),
        pytest.param({}, {"hold_offs": remember_opening(gate="south")}, "", id="other-gate"),
        pytest.param({}, {"steady_s": NOW_S + 10}, "", id="seen-just-now"),
        pytest.param({}, {"steady_s": NOW_S + 10.1}, "old_frame", id="not-seen-any-more"),
    ],
)  # fmt: skip
def test_a_gate_decides_by_all_conditions(
    gate: dict[str, Any], now: dict[str, Any], code: str
) -> None:
    decision = decide(make_gate(**gate), make_present(), look_around(**now))
    assert decision.code == code
    assert decision.opens == (code == "")


def test_a_decision_has_the_entry_and_the_sentence() -> None:
    now = look_around(hold_offs=remember_opening(3.2))
    decision = decide(make_gate(hold_off_s=60), make_present(), now)
    assert decision.sentence == "opened for this plate 3 s ago; hold_off_s is 60"
    assert decision.hit is not None
    assert decision.hit.entry.text == TEXT
    assert decide(make_gate(), make_present(), look_around()).sentence == ""


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_is_read_back_with_its_values(code: str) -> None:
    values = {name: f"<{name}: 1.5> (2)" for name in re.findall(r"{(\w+)}", REASONS[code])}
    assert read_reason(to_sentence(code, **values)) == Reason(code, values)


@pytest.mark.parametrize("sentence", ["", "for the courier", "the relay does not answer twice"])
def test_other_sentences_are_no_reason(sentence: str) -> None:
    assert read_reason(sentence) is None


def test_the_delay_counts_from_the_first_frame_that_shows_the_text() -> None:
    vehicle_pass = make_pass(looks=3, last_moment_s=77.0)
    other = replace(vehicle_pass.observations[0], plate=Plate((0, 0, 9, 9), 0.9, "", 0.0))
    vehicle_pass = replace(vehicle_pass, observations=(other, *vehicle_pass.observations[1:]))
    assert first_readable_s(vehicle_pass) == 76.0  # the last frame was one second later
    assert first_readable_s(replace(vehicle_pass, text="M456OP199")) == 77.0
    assert first_readable_s(replace(vehicle_pass, last_seen_s=0.0)) == 77.0
    assert first_readable_s(replace(vehicle_pass, clock="file")) is None
    assert first_readable_s(replace(vehicle_pass, last_moment_s=None)) is None
