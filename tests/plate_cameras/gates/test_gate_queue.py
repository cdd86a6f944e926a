"""The queue of one gate, with a relay that follows a script, in virtual time."""

import asyncio
from typing import Any

import pytest

from plate_cameras.gates.gate_queue import ATTEMPT_S, OFF_AGAIN_S, OFF_S, RETRY_S, GateQueue
from plate_cameras.gates.relay import OpeningRequest, RelayError
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_opening
from tests.plate_cameras.gates.queue_driveway import AWAY, OTHER, REQUEST, Driveway, Step


def test_a_relay_that_cannot_be_reached_fails_in_time_and_the_next_has_its_turn() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 4))
    driveway.run(REQUEST, OTHER, 60)
    assert driveway.outcomes == [("failed", "cannot connect"), ("opened", "")]
    assert driveway.recorded_at_s[0] == pytest.approx(1.4)
    assert driveway.recorded_at_s[0] <= RETRY_S
    assert driveway.openings[0].delay_s is None


def test_it_is_decided_again_before_each_attempt() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 9))
    driveway.run(REQUEST, 0.1, lambda _: driveway.refusals.update(p1="unlisted"), 10)
    assert driveway.relay.calls == ["on"]
    assert driveway.outcomes == [("failed", "cannot connect")]


@pytest.mark.parametrize(
    ("failure", "reason", "is_stopped"),
    [
        pytest.param("no answer", "no answer", True, id="lost-answer"),
        pytest.param(RelayError("status 500"), "status 500", True, id="server-error"),
        pytest.param(KeyError("secret"), "KeyError", True, id="error-of-a-package"),
        pytest.param(None, "the relay does not answer", True, id="hangs"),
        pytest.param(None, "the request was interrupted", False, id="cancelled"),
    ],
)
def test_what_may_have_been_done_is_not_asked_again(
    failure: Any, reason: str, is_stopped: bool
) -> None:
    driveway = Driveway(ScriptedRelay([failure]))
    queue = driveway.run(REQUEST, 60 if is_stopped else 1, is_stopped=is_stopped)
    assert driveway.outcomes == [("unknown", reason)]
    assert driveway.relay.calls == ["on"]
    assert driveway.openings[0].delay_s is None
    assert driveway.recorded_at_s[0] <= ATTEMPT_S
    assert driveway.hold_offs.has_asked(queue.gate, "p1")


def test_an_opening_by_another_watcher_is_known_before_the_relay_is_asked() -> None:
    driveway = Driveway(elsewhere=[make_opening(gate="north")])
    driveway.run(REQUEST, 0.5, open_s=7)
    assert driveway.relay.calls == []
    driveway.run(REQUEST, 10, open_s=7)
    assert driveway.relay.calls == ["on"]
    assert driveway.decided_at_s[-1] == 6.0  # the gate was open for a second
    assert [opening.id for opening in driveway.begun] == [driveway.openings[0].id]


def test_what_has_begun_is_withdrawn_where_the_failure_is_no_news() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 99))
    driveway.run(REQUEST, 10, REQUEST, 10)
    assert driveway.outcomes == [("failed", "cannot connect")]
    assert [opening.id for opening in driveway.begun] == [driveway.openings[0].id]


def test_a_failure_is_shown_until_the_next_vehicle_is_served() -> None:
    errors: list[str] = []
    driveway = Driveway(ScriptedRelay(["status 500"]))

    def note(queue: GateQueue) -> None:
        errors.append(queue.status.error)

    driveway.run(REQUEST, 1, note, OTHER, 1, note)
    assert errors == ["status 500", ""]


def test_an_opening_by_another_process_is_awaited_as_well() -> None:
    driveway = Driveway()
    driveway.hold_offs.add(make_opening(), 0)
    driveway.run(REQUEST, 5, lambda _: driveway.hold_offs.add(make_opening(), 5), 60, open_s=7)
    assert driveway.recorded_at_s == pytest.approx([12])


@pytest.mark.parametrize(
    ("driveway", "reason"),
    [
        pytest.param(
            Driveway(refusals={"p1": "schedule"}), "outside the gate's schedule", id="refusal"
        ),
        pytest.param(Driveway(ScriptedRelay([AWAY] * 20)), "cannot connect", id="failure"),
    ],
)
def test_a_vehicle_that_tries_again_has_one_record(driveway: Driveway, reason: str) -> None:
    driveway.run(REQUEST, 5, REQUEST, 5)
    assert [opening.reason for opening in driveway.openings] == [reason]


@pytest.mark.parametrize(
    ("script", "on", "off"),
    [
        pytest.param([], ["on"], ["on", "off"], id="on"),
        pytest.param(["no answer"], ["on"], ["on", "off"], id="it may be on"),
        pytest.param([AWAY] * 4, ["on"] * 4, ["on"] * 4, id="certainly not on"),
    ],
)
def test_a_relay_that_may_be_on_is_switched_off_after_the_pulse(
    script: list[Any], on: list[str], off: list[str]
) -> None:
    relay, calls = ScriptedRelay(script, needs_off=True), list[list[str]]()

    def note(_: GateQueue) -> None:
        calls.append([*relay.calls])

    Driveway(relay).run(REQUEST, 2.9, note, 0.2, note, pulse_s=3)
    assert calls == [on, off]


def test_a_pulse_is_ended_after_a_restart_of_its_task() -> None:
    relay = ScriptedRelay(["", None], needs_off=True)
    driveway = Driveway(relay)

    def restart(queue: GateQueue) -> None:
        driveway.serving = asyncio.create_task(queue.serve())

    driveway.run(REQUEST, 1.5, lambda _: driveway.serving.cancel(), 0, restart, 1, pulse_s=1)
    assert relay.calls == ["on", "off", "off"]


@pytest.mark.parametrize("failures", [160, 999])
def test_a_relay_that_stays_on_is_told_once_and_tried_until_it_is_off(failures: int) -> None:
    relay = ScriptedRelay(["", *["away"] * failures], needs_off=True)
    driveway = Driveway(relay)
    driveway.run(REQUEST, 1 + OFF_S + 10 * OFF_AGAIN_S, pulse_s=1)
    assert driveway.outcomes == [("opened", ""), ("failed", "the relay may still be on: away")]
    assert 1 + OFF_S - 0.5 < driveway.recorded_at_s[1] <= 1 + OFF_S
    assert relay.calls.count("off") == pytest.approx(OFF_S / 0.2 + 10, abs=20)
    assert relay.calls[-1] == "off"
    assert bool(relay.script) == (failures == 999)


def test_a_relay_that_stays_on_does_not_hold_up_the_next_vehicle() -> None:
    relay = ScriptedRelay(["", *["away"] * 999], needs_off=True)
    driveway = Driveway(relay)

    def recover(_: GateQueue) -> None:
        relay.script = ["away", ""]

    driveway.run(REQUEST, OFF_S + 5, recover, OTHER, OFF_AGAIN_S + 2, pulse_s=1)
    assert [opening.outcome for opening in driveway.openings] == ["opened", "failed", "opened"]
    assert relay.calls[-1] == "off"


@pytest.mark.parametrize(
    ("script", "steps", "requests", "openings"),
    [
        pytest.param([], [REQUEST, 1, OTHER, 1], (OTHER,), 1, id="the gate is open"),
        pytest.param([AWAY] * 9, [REQUEST, 0.1], (REQUEST,), 0, id="the relay is away"),
    ],
)
def test_vehicles_that_wait_when_the_gate_is_stopped_stay(
    script: list[Any], steps: list[Step], requests: tuple[OpeningRequest, ...], openings: int
) -> None:
    driveway = Driveway(ScriptedRelay(script))
    assert driveway.run(*steps, open_s=600).requests == requests
    assert len(driveway.openings) == openings
    assert driveway.relay.calls == ["on"]


def test_a_relay_that_does_not_close_does_not_hold_up_the_end() -> None:
    class Clinging(ScriptedRelay):
        async def close(self) -> None:
            await asyncio.Event().wait()

    driveway = Driveway(Clinging())
    driveway.run(REQUEST, 60)
    assert driveway.outcomes == [("opened", "")]


@pytest.mark.parametrize("turns", range(8))
def test_nothing_is_decided_after_the_order_to_stop(turns: int) -> None:
    driveway, decided_at_s = Driveway(), list[float]()

    def stop(queue: GateQueue) -> None:
        decided_at_s.extend(driveway.decided_at_s)
        queue.ask_to_stop()

    queue = driveway.run(REQUEST, *[0.0] * turns, stop)
    assert driveway.decided_at_s == decided_at_s
    assert queue.requests == (() if driveway.relay.calls else (REQUEST,))
