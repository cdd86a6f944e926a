"""The lists and the last openings in memory, with a store whose answers follow a script."""

import asyncio
from collections.abc import Sequence

import pytest

from plate_cameras.gates import known_lists as known_lists_module
from plate_cameras.gates.known_lists import DAY_S, HoldOffs, KnownLists
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.known_vehicles import (
    NOW_S,
    TEXT,
    make_gate,
    make_list,
    make_opening,
    remember_opening,
)
from tests.virtual_time import run_virtually, virtually


class Shelf:
    """A store with one list and slow calls.

    Attributes:
        now_s: The steady time.
        takes_s: Time that each call takes.
        revision: State of the list.
        failure: The error of each call; None if they work.
        within_s: Ages of openings in the requests.
        recent_openings: Openings with their ages.
        changes: Number of changes that were reported.
    """

    def __init__(self) -> None:
        self.now_s = 100.0
        self.takes_s = 0.0
        self.revision = 1
        self.failure: Exception | None = None
        self.within_s: list[float] = []
        self.recent_openings: list[tuple[GateOpening, float]] = []
        self.changes = 0
        self.hold_offs = HoldOffs()
        self.lists = KnownLists(self, self.hold_offs, lambda: self.now_s)
        self.lists.on_change = self.count

    @property
    def openings(self) -> "Shelf":
        return self

    def count(self) -> None:
        self.changes += 1

    def refresh(self, lookup: ListLookup) -> None:
        self.now_s += self.takes_s
        if self.failure:
            raise self.failure
        lookup.replace({1: make_list(ListEntry(TEXT), revision=self.revision)}, {})

    def recent(self, within_s: float) -> Sequence[tuple[GateOpening, float]]:
        self.within_s.append(within_s)
        return self.recent_openings

    def read(self) -> None:
        run_virtually(self.lists.read())


def test_the_age_counts_from_the_beginning_of_the_call() -> None:
    shelf = Shelf()
    shelf.takes_s = 3.0
    shelf.read()
    assert shelf.lists.age_s == 3.0
    assert [plate_list.name for plate_list in shelf.lists.find(["residents"])] == ["residents"]


@pytest.mark.parametrize(
    "failure",
    [
        StoreUnavailable("away"),
        RuntimeError("of the driver"),
        OSError("no descriptors"),
        KeyError(),
    ],
)
def test_after_any_error_the_lists_stay_and_get_older(failure: Exception) -> None:
    shelf = Shelf()
    shelf.read()
    shelf.failure, shelf.now_s = failure, 107.0
    shelf.read()
    assert shelf.lists.age_s == 7.0
    assert shelf.lists.find(["residents"]) != []
    assert shelf.changes == 1


def test_a_missing_list_of_a_gate_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf()
    shelf.lists.gates = [make_gate(lists=("residents", "staf"))]
    shelf.failure = StoreUnavailable("away")
    shelf.read()
    assert "staf" not in caplog.text
    shelf.failure = None
    shelf.read()
    shelf.read()
    assert caplog.messages.count("gate north: there is no list staf") == 1


def test_a_failure_that_lasts_is_told_once_for_each_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = Shelf()
    shelf.read()
    shelf.failure, shelf.now_s = StoreUnavailable("away"), 110.0
    shelf.read()
    assert caplog.records == []
    shelf.now_s = 110.1
    shelf.read()
    shelf.read()
    shelf.failure = KeyError("strange")
    shelf.read()
    assert [record.exc_info is None for record in caplog.records] == [True, False]
    shelf.failure = None
    shelf.read()
    shelf.failure, shelf.now_s = KeyError("strange"), 200.0
    shelf.read()
    assert len(caplog.records) == 3


def test_openings_are_read_up_to_the_age_that_counts_but_at_first() -> None:
    shelf = Shelf()
    shelf.lists.count_openings(12.0)
    shelf.read()
    shelf.now_s += 5
    shelf.read()
    shelf.lists.count_openings(12.0)
    shelf.now_s += 1
    shelf.read()
    shelf.lists.count_openings(60.0)
    shelf.read()
    shelf.read()
    assert shelf.within_s == [DAY_S, 12.0, 11.0, DAY_S, 10.0]


@virtually
async def test_lists_are_read_every_second_also_after_an_error() -> None:
    shelf = Shelf()
    shelf.failure = RuntimeError("broken")
    reading = asyncio.create_task(shelf.lists.run())
    await asyncio.sleep(2.5)
    shelf.failure = None
    await asyncio.sleep(1)
    reading.cancel()
    assert len(shelf.within_s) == 1
    assert shelf.changes == 1


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
    assert not remember_opening(pass_id="").has_asked(gate, "")


def test_only_so_many_openings_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lists_module, "MAX_OPENINGS", 2)
    hold_offs = HoldOffs()
    hold_offs.add(make_opening(pass_id="p1"), 1.0)
    hold_offs.add(make_opening(pass_id="p2"), 2.0)
    assert hold_offs.has_asked(make_gate(), "p1")
    hold_offs.add(make_opening(pass_id="p3"), 3.0)
    answers = [hold_offs.has_asked(make_gate(), pass_id) for pass_id in ("p1", "p2", "p3")]
    assert answers == [False, True, True]


def test_a_command_of_this_process_counts_when_it_was_asked_and_that_of_another_at_once() -> None:
    gate, hold_offs = make_gate(hold_off_s=60.0), HoldOffs()
    command = make_opening(id="one", person="guard", outcome="begun")
    hold_offs.begin("one")
    hold_offs.add(command, 100.0)
    assert hold_offs.opened_ago_s(gate, [TEXT], 101.0) is None
    hold_offs.withdraw("one")
    hold_offs.add(command, 100.0)
    assert hold_offs.opened_ago_s(gate, [TEXT], 101.0) == 1.0
    assert hold_offs.has_asked(gate, "other")
