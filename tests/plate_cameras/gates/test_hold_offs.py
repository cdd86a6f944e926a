"""The memory of the last openings, in steady time."""

import pytest

from plate_cameras.gates import known_lists as known_lists_module
from plate_cameras.gates.known_lists import HoldOffs
from tests.plate_cameras.gates.known_vehicles import (
    NOW_S,
    TEXT,
    make_gate,
    make_opening,
    remember_opening,
)


def test_an_opening_that_is_told_again_does_not_begin_its_hold_off_anew() -> None:
    hold_offs, opening = HoldOffs(), make_opening()
    hold_offs.add(opening, 100.0)
    hold_offs.add(opening, 150.0)

    assert hold_offs.opened_ago_s(make_gate(hold_off_s=60), [TEXT], 155.0) == 55.0
    assert hold_offs.open_until_s(make_gate(open_s=5, pulse_s=1)) == 105.0
    assert hold_offs.open_until_s(make_gate(open_s=0, pulse_s=7)) == 107.0


def test_old_openings_are_forgotten_but_not_that_they_were_asked_for() -> None:
    hold_offs = remember_opening(10, pass_id="pass-1")
    gate = make_gate(hold_off_s=100)

    hold_offs.forget(NOW_S - 10)
    assert hold_offs.opened_ago_s(gate, [TEXT], NOW_S) == 10
    hold_offs.forget(NOW_S - 9)
    assert hold_offs.opened_ago_s(gate, [TEXT], NOW_S) is None
    assert hold_offs.has_asked(gate, "pass-1")
    assert not hold_offs.has_asked(gate, "pass-2")


def test_an_opening_without_a_pass_was_asked_for_none() -> None:
    assert not remember_opening(pass_id="").has_asked(make_gate(), "")


def test_only_so_many_openings_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lists_module, "MAX_KNOWN", 2)
    hold_offs = HoldOffs()
    hold_offs.add(make_opening(pass_id="p1"), 1.0)
    hold_offs.add(make_opening(pass_id="p2"), 2.0)
    assert hold_offs.has_asked(make_gate(), "p1")
    hold_offs.add(make_opening(pass_id="p3"), 3.0)

    assert [hold_offs.has_asked(make_gate(), one) for one in ("p1", "p2", "p3")] == [
        False,
        True,
        True,
    ]
