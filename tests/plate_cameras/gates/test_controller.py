"""The controller's choice of gates for each vehicle, with lists in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from plate_cameras.configuration import Camera, Configuration
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.setting_parts import Gate
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.known_vehicles import (
    NOW_S,
    TEXT,
    ListsInMemory,
    ScriptedRelay,
    make_gate,
    make_list,
    make_pass_event,
    reached,
)


class ListLog:
    """Keeps openings in a list."""

    def __init__(self) -> None:
        self.openings: list[GateOpening] = []

    def write(self, openings: Sequence[GateOpening]) -> None:
        self.openings += openings


FRAME_AGE_S = 0.5
"""Time from a frame to the event that it causes."""


class WatchedGates(GateController):
    """Gates whose vehicles are seen in each frame until their passes are closed.

    Attributes:
        is_blind: True while the camera sees nothing.
    """

    is_blind = False

    def offer(self, event: PassEvent) -> None:
        self.look()
        if not self.is_blind:
            passed = replace(event.passed, last_moment_s=self._clock() - FRAME_AGE_S)
            event = replace(event, passed=passed)
        super().offer(event)

    def look(self) -> None:
        """Report all vehicles as seen in a frame of this moment."""
        for present in [] if self.is_blind else self._present.values():
            passed = present.passed
            self.see(Sighting(passed.camera, (passed.id,), self._clock()))


class Site:
    """A camera with its gates. All clocks show `now_s`.

    Attributes:
        is_blind: True while the camera sends no frames.
    """

    def __init__(self, *gates: Gate, lists: ListsInMemory | None = None) -> None:
        self.gates = gates or (make_gate(),)
        self.store = lists or ListsInMemory()
        self.relays = {gate.name: ScriptedRelay() for gate in self.gates}
        self.told: list[GateOpening] = []
        self.controller: WatchedGates | None = None
        self._now_s = NOW_S
        self._is_blind = False

    @property
    def now_s(self) -> float:
        return self._now_s

    @now_s.setter
    def now_s(self, now_s: float) -> None:
        self._now_s = self.store.openings.now_s = now_s
        self._look()

    @property
    def is_blind(self) -> bool:
        return self._is_blind

    @is_blind.setter
    def is_blind(self, is_blind: bool) -> None:
        self._is_blind = is_blind
        self._look()

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(one.gate, one.outcome) for one in self.told]

    def run(self, act: Callable[[GateController, KnownLists], Awaitable[None]]) -> None:
        async def main() -> None:
            hold_offs = HoldOffs()
            self.lists = KnownLists(self.store, hold_offs, lambda: self.now_s)
            self.recorder = OpeningRecorder(ListLog())
            controller = self.controller = WatchedGates(
                self.lists,
                self.recorder,
                hold_offs,
                self.told.append,
                clock=lambda: self.now_s,
                unix_clock=lambda: self.now_s,
            )
            self._look()
            self.lists.on_change = controller.reconsider
            await self.lists.read()
            cameras = (Camera("gate", "rtsp://gate"), Camera("yard", "rtsp://yard"))
            await controller.apply(Configuration(cameras, gates=self.gates), self.relays)
            looking = asyncio.create_task(self._look_on())
            try:
                await act(controller, self.lists)
            finally:
                looking.cancel()
                await controller.stop()

        asyncio.run(main())

    def offer(self, *events: PassEvent, records: int = 0) -> list[tuple[str, str]]:
        """Offer events to the controller; return the records after the gates have stopped."""

        async def act(controller: GateController, _: KnownLists) -> None:
            for event in events:
                controller.offer(event)
            await reached(lambda: len(self.told) >= records, f"{records} records")

        self.run(act)
        return self.outcomes

    def _look(self) -> None:
        if self.controller:
            self.controller.is_blind = self.is_blind
            self.controller.look()

    async def _look_on(self) -> None:
        """Look repeatedly: a script may have its own clock."""
        while True:
            self._look()
            await asyncio.sleep(0.02)


def test_a_stranger_leaves_no_record() -> None:
    assert Site().offer(make_pass_event(text="M456OP199")) == []


def test_a_pass_that_never_agreed_opens_nothing() -> None:
    assert Site().offer(make_pass_event("closed")) == []


def test_a_pass_opens_a_gate_only_once() -> None:
    site = Site(make_gate(hold_off_s=0))
    events = [make_pass_event("agreed")] + [make_pass_event("updated")] * 3

    assert site.offer(*events, records=1) == [("north", "opened")]
    assert site.relays["north"].switched == ["on"]


def test_a_vehicle_that_reaches_the_zone_later_opens_the_gate_then() -> None:
    site = Site(make_gate(zones=("entry",)))
    there = make_pass_event("updated", zones=("far", "entry"))

    assert site.offer(make_pass_event(zones=("far",))) == []
    assert site.offer(make_pass_event(zones=("far",)), there, records=1) == [("north", "opened")]
    assert site.told[0].delay_s == pytest.approx(FRAME_AGE_S)


def test_the_delay_counts_from_the_first_frame_that_shows_the_plate() -> None:
    site = Site()
    site.offer(make_pass_event(), records=1)

    seen_s = site.told[0].delay_s
    assert seen_s == pytest.approx(FRAME_AGE_S + 1.5)  # it was seen for so long


def test_a_new_text_opens_when_frames_agree_on_it() -> None:
    doubtful = make_pass_event("updated", text_score=0.65)
    events = [make_pass_event(text="M456OP199"), doubtful, make_pass_event("updated")]

    assert Site().offer(*events, records=1) == [("north", "opened")]


def test_a_text_that_was_agreed_stays_so_while_the_score_wavers() -> None:
    site = Site(make_gate(zones=("entry",)))
    there = make_pass_event("updated", zones=("entry",), text_score=0.85)

    assert site.offer(make_pass_event(zones=()), there, records=1) == [("north", "opened")]


def test_several_gates_open_for_one_vehicle() -> None:
    site = Site(make_gate(), make_gate(name="south"), make_gate(name="yard", cameras=("yard",)))

    opened = site.offer(make_pass_event(), records=2)
    assert sorted(opened) == [("north", "opened"), ("south", "opened")]


def test_a_gate_that_hangs_does_not_delay_another() -> None:
    site = Site(make_gate(), make_gate(name="south"))
    site.relays["north"].script = [None] * 9

    async def act(controller: GateController, _: KnownLists) -> None:
        controller.offer(make_pass_event())
        await reached(lambda: site.told, "an opening")

    site.run(act)
    assert site.outcomes[0] == ("south", "opened")


def test_two_cameras_see_a_vehicle_and_the_gate_opens_once() -> None:
    site = Site(make_gate(cameras=("gate", "yard")))
    other = make_pass_event(id="pass-2", camera="yard")

    assert site.offer(make_pass_event(), other, records=2) == [
        ("north", "opened"),
        ("north", "refused"),
    ]
    assert site.relays["north"].switched == ["on"]


def test_a_vehicle_of_an_old_frame_is_refused() -> None:
    site = Site()
    site.is_blind = True
    site.now_s += 60

    assert site.offer(make_pass_event(), records=1) == [("north", "refused")]
    assert site.told[0].reason == "the last frame is too old"


def test_lists_that_were_never_read_open_nothing() -> None:
    lists = ListsInMemory()
    lists.fails = StoreUnavailable("away")

    assert Site(lists=lists).offer(make_pass_event()) == []


def test_a_vehicle_that_has_left_is_not_looked_at_again() -> None:
    site = Site(lists=ListsInMemory([make_list(ListEntry("M456OP199"))]))

    async def act(controller: GateController, lists: KnownLists) -> None:
        controller.offer(make_pass_event())
        controller.offer(make_pass_event("closed"))
        site.store.lists = [make_list(ListEntry(TEXT), revision=2)]
        await lists.read()

    site.run(act)
    assert site.outcomes == []


def test_openings_before_a_restart_count() -> None:
    first = Site()
    first.offer(make_pass_event(), records=1)
    lists = ListsInMemory()
    lists.openings.all = tuple(first.told)
    second = Site(lists=lists)

    assert second.offer(make_pass_event(id="pass-2"), records=1) == [("north", "refused")]


def test_gates_that_stay_the_same_keep_their_relays() -> None:
    site = Site(make_gate(), make_gate(name="south"))
    cameras = (Camera("gate", "rtsp://gate"),)
    changed: list[list[str]] = []

    async def act(controller: GateController, _: KnownLists) -> None:
        gates = (make_gate(), make_gate(name="south", hold_off_s=5))
        changed.append([one.name for one in controller.changed(gates)])
        configuration = Configuration(cameras, gates=gates)
        await controller.apply(configuration, {"south": ScriptedRelay()})

    site.run(act)
    assert changed == [["south"]]


def test_a_gate_that_is_gone_is_closed() -> None:
    site = Site(make_gate(), make_gate(name="south"))
    closed: list[bool] = []

    async def act(controller: GateController, _: KnownLists) -> None:
        configuration = Configuration((Camera("gate", "rtsp://gate"),), gates=(make_gate(),))
        await controller.apply(configuration, {})
        closed.extend(site.relays[name].is_closed for name in ("north", "south"))

    site.run(act)
    assert closed == [False, True]


def test_records_wait_in_memory_and_none_is_lost() -> None:
    class BrokenLog(ListLog):
        failures = 2

        def write(self, openings: Sequence[GateOpening]) -> None:
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("database and disk are away")
            super().write(openings)

    log = BrokenLog()
    site = Site()
    site.offer(make_pass_event(), records=1)
    opening = site.told[0]

    async def act() -> list[bool]:
        recorder = OpeningRecorder(log)
        taken = []
        for number in range(3):
            recorder.put(replace(opening, id=f"{number}"))
            taken.append(await recorder.flush())
        return taken

    assert asyncio.run(act()) == [False, False, True]
    assert [one.id for one in log.openings] == ["0", "1", "2"]


def test_the_state_counts_outcomes_and_delays() -> None:
    site = Site()
    statuses: list[Any] = []

    async def act(controller: GateController, _: KnownLists) -> None:
        controller.offer(make_pass_event())
        controller.offer(make_pass_event(id="pass-2"))
        await reached(lambda: len(site.told) == 2, "two records")
        statuses.extend(controller.statuses)

    site.run(act)
    assert statuses[0].outcomes == {"opened": 1, "unknown": 0, "failed": 0, "refused": 1}
    assert sum(statuses[0].delays.counts) == 1
