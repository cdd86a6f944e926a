"""The queue of one gate, with a relay and a clock that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from orchestrator.cameras.gates import gate_queue
from orchestrator.cameras.gates.gate_queue import GateQueue, GateSurroundings
from orchestrator.cameras.gates.hold_offs import HoldOffs
from orchestrator.cameras.gates.relay import OpeningRequest
from orchestrator.cameras.store.gate_openings import GateOpening
from tests.cameras.gates.known_vehicles import NOW_S, TEXT, ScriptedRelay, make_gate, reached

REQUEST = OpeningRequest("north", "gate", "p1", TEXT, "residents", TEXT, readable_s=NOW_S - 0.4)
OTHER = replace(REQUEST, pass_id="p2", text="M456OP199", entry_text="M456OP199")


@dataclass
class Driveway:
    """A gate with what surrounds it.

    Attributes:
        relay: Its relay.
        now_s: The Unix time.
        present: Ids of the passes whose vehicles are there.
        openings: The recorded openings.
    """

    relay: ScriptedRelay = field(default_factory=ScriptedRelay)
    now_s: float = NOW_S
    present: set[str] = field(default_factory=lambda: {"p1", "p2", "p3"})
    openings: list[GateOpening] = field(default_factory=list)
    hold_offs: HoldOffs = field(default_factory=HoldOffs)

    def run(self, act: Callable[[GateQueue], Awaitable[None]], **changes: Any) -> None:
        async def main() -> None:
            around = GateSurroundings(
                self.hold_offs,
                lambda request: request.pass_id in self.present,
                self.openings.append,
                lambda: self.now_s,
            )
            queue = GateQueue(make_gate(**changes), self.relay, around)
            queue.start()
            try:
                await act(queue)
            finally:
                await queue.stop()

        asyncio.run(main())

    def serve(self, *requests: OpeningRequest, **changes: Any) -> list[tuple[str, str]]:
        """Serve requests; return outcome and reason of each."""

        async def act(queue: GateQueue) -> None:
            for request in requests:
                queue.put(request)
            await reached(lambda: len(self.openings) >= len(requests), "a record of each")

        self.run(act, **changes)
        return [(one.outcome, one.reason) for one in self.openings]


def test_an_opening_is_recorded_with_its_vehicle_and_delay() -> None:
    driveway = Driveway()

    assert driveway.serve(REQUEST) == [("opened", "")]
    (opening,) = driveway.openings
    assert (opening.gate, opening.camera, opening.pass_id) == ("north", "gate", "p1")
    assert (opening.text, opening.list, opening.entry_text) == (TEXT, "residents", TEXT)
    assert opening.requested_s == NOW_S
    assert opening.delay_s == pytest.approx(0.4)


def test_a_file_has_no_delay() -> None:
    driveway = Driveway()
    driveway.serve(replace(REQUEST, readable_s=None))

    assert driveway.openings[0].delay_s is None


def test_a_relay_is_tried_again() -> None:
    driveway = Driveway(ScriptedRelay(["cannot connect"]))

    assert driveway.serve(REQUEST) == [("opened", "")]
    assert driveway.relay.switched == ["on", "on"]


def test_a_relay_that_hangs_fails_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_queue, "ATTEMPT_S", 0.05)
    monkeypatch.setattr(gate_queue, "RETRY_S", 0.3)
    driveway = Driveway(ScriptedRelay([None] * 9))

    assert driveway.serve(REQUEST) == [("failed", "the relay does not answer")]
    assert driveway.openings[0].delay_s is None


def test_a_failure_is_shown_and_does_not_end_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_queue, "RETRY_S", 0.1)
    driveway = Driveway(ScriptedRelay(["status 500"]))
    errors = []

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: driveway.openings, "a failure")
        errors.append(queue.status.error)
        queue.put(OTHER)
        await reached(lambda: len(driveway.openings) == 2, "an opening")

    driveway.run(act)
    assert errors == ["status 500"]
    assert [one.outcome for one in driveway.openings] == ["failed", "opened"]


def test_an_error_of_a_package_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def break_down(_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(gate_queue, "RETRY_S", 0.1)
    driveway = Driveway()
    monkeypatch.setattr(driveway.relay, "switch_on", break_down)

    assert driveway.serve(REQUEST) == [("failed", "KeyError")]


def test_the_same_plate_does_not_open_again_within_the_hold_off() -> None:
    driveway = Driveway()
    second = replace(REQUEST, pass_id="p2")

    assert driveway.serve(REQUEST, second, hold_off_s=60) == [
        ("opened", ""),
        ("refused", "opened for this plate 0 s ago; hold_off_s is 60"),
    ]
    assert driveway.relay.switched == ["on"]


def test_the_hold_off_follows_the_entry_and_not_its_readings() -> None:
    driveway = Driveway()
    misread = replace(REQUEST, pass_id="p2", text="A128BC77")

    assert [one for one, _ in driveway.serve(REQUEST, misread)] == ["opened", "refused"]


def test_the_hold_off_ends() -> None:
    driveway = Driveway()
    driveway.serve(REQUEST, hold_off_s=60)
    driveway.now_s += 60
    driveway.openings.clear()

    assert driveway.serve(replace(REQUEST, pass_id="p2"), hold_off_s=60) == [("opened", "")]


def test_a_failure_starts_no_hold_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_queue, "RETRY_S", 0.1)
    driveway = Driveway(ScriptedRelay(["status 500"]))

    outcomes = driveway.serve(REQUEST, replace(REQUEST, pass_id="p2"))
    assert [one for one, _ in outcomes] == ["failed", "opened"]


def test_another_vehicle_waits_until_the_gate_has_closed() -> None:
    driveway = Driveway()
    at: list[float] = []

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: driveway.openings, "the first")
        started = asyncio.get_running_loop().time()
        queue.put(OTHER)
        await reached(lambda: len(driveway.openings) == 2, "the second")
        at.append(asyncio.get_running_loop().time() - started)

    driveway.run(act, open_s=0.3, pulse_s=0.1)
    assert [one.outcome for one in driveway.openings] == ["opened", "opened"]
    assert at[0] > 0.25


def test_a_vehicle_that_left_through_the_open_gate_does_not_open_it_again() -> None:
    driveway = Driveway(present={"p1"})

    outcomes = driveway.serve(REQUEST, OTHER, open_s=0.2, pulse_s=0.1)
    assert outcomes[0] == ("opened", "")
    assert outcomes[1][0] == "refused"
    assert "has left" in outcomes[1][1]
    assert driveway.relay.switched == ["on"]


def test_a_person_opens_without_a_hold_off() -> None:
    driveway = Driveway()
    by_hand = OpeningRequest("north", note="opened by hand: guard")

    assert driveway.serve(by_hand, by_hand, open_s=0, pulse_s=0.1) == [
        ("opened", "opened by hand: guard"),
        ("opened", "opened by hand: guard"),
    ]


def test_the_relay_is_switched_off_after_the_pulse() -> None:
    driveway = Driveway(ScriptedRelay(needs_off=True))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: driveway.relay.switched == ["on", "off"], "the end of the pulse")

    driveway.run(act, pulse_s=0.1)


def test_the_relay_is_switched_off_when_the_command_ends() -> None:
    driveway = Driveway(ScriptedRelay(needs_off=True))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: driveway.openings, "an opening")

    driveway.run(act, pulse_s=60)
    assert driveway.relay.switched == ["on", "off"]
    assert driveway.relay.is_closed


def test_the_relay_is_switched_off_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_queue, "RETRY_S", 0.1)
    driveway = Driveway(ScriptedRelay(["no answer"], needs_off=True))
    driveway.serve(REQUEST, pulse_s=0.1)

    assert driveway.relay.switched == ["on", "off"]


def test_a_relay_that_stays_on_is_tried_again_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_queue, "OFF_S", 0.3)
    driveway = Driveway(ScriptedRelay(["", "away", "away", "away"], needs_off=True))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: len(driveway.openings) == 2, "a failure")

    driveway.run(act, pulse_s=0.1)
    assert driveway.openings[1].reason == "the relay may still be on: away"
    assert driveway.relay.switched.count("off") > 1


def test_vehicles_that_wait_at_the_end_are_refused() -> None:
    driveway = Driveway()

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await reached(lambda: driveway.openings, "an opening")
        queue.put(OTHER)

    driveway.run(act, open_s=600)
    assert [(one.outcome, one.reason) for one in driveway.openings[1:]] == [
        ("refused", "the command ended")
    ]


def test_openings_of_other_processes_count() -> None:
    driveway = Driveway()
    driveway.serve(REQUEST)
    elsewhere = Driveway()
    elsewhere.hold_offs.add(driveway.openings)

    assert [one for one, _ in elsewhere.serve(replace(REQUEST, pass_id="p2"))] == ["refused"]


def test_old_openings_are_forgotten() -> None:
    hold_offs = HoldOffs()
    driveway = Driveway(hold_offs=hold_offs)
    driveway.serve(REQUEST)
    gate = make_gate(hold_off_s=100)

    assert hold_offs.opened_ago_s(gate, [TEXT], NOW_S + 50) == 50
    hold_offs.forget(NOW_S + 1)
    assert hold_offs.opened_ago_s(gate, [TEXT], NOW_S + 50) is None
