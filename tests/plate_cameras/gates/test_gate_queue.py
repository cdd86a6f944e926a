"""The queue of one gate, with a relay that follows a script, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from plate_cameras.gates.conditions import Decision, GateSurroundings
from plate_cameras.gates.gate_queue import (
    ATTEMPT_S,
    OFF_AGAIN_S,
    OFF_S,
    RETRY_S,
    GateQueue,
)
from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, RelayError
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.known_vehicles import (
    NOW_S,
    TEXT,
    ScriptedRelay,
    make_gate,
    make_opening,
)
from tests.virtual_time import run_virtually

REQUEST = OpeningRequest("north", "gate", "p1", TEXT, "residents", TEXT, readable_s=-0.4)
OTHER = replace(REQUEST, pass_id="p2", text="M456OP199", entry_text="M456OP199")
AWAY = NotSwitchedError("cannot connect")


@dataclass
class Driveway:
    """A gate with its relay, lists and records. The steady time is that of the loop.

    Attributes:
        relay: Its relay.
        refusals: Codes of the reasons for refusals, by pass. `None` permits the vehicle.
        openings: The recorded openings.
        recorded_at_s: Steady times of the records.
        decided_at_s: Steady times of the decisions.
        hold_offs: The last openings.
        told: Recorded passes and reasons.
        serving: The task that serves the vehicles.
    """

    relay: ScriptedRelay = field(default_factory=ScriptedRelay)
    refusals: dict[str, str] = field(default_factory=dict)
    openings: list[GateOpening] = field(default_factory=list)
    recorded_at_s: list[float] = field(default_factory=list)
    decided_at_s: list[float] = field(default_factory=list)
    hold_offs: HoldOffs = field(default_factory=HoldOffs)
    told: set[tuple[str, str]] = field(default_factory=set)
    serving: asyncio.Task[None] = field(init=False)

    def run(
        self,
        act: Callable[[GateQueue], Awaitable[None]],
        *,
        is_stopped: bool = True,
        **changes: Any,
    ) -> GateQueue:
        """Run a coroutine function beside the queue, which is stopped at the end."""

        async def main() -> GateQueue:
            loop = asyncio.get_running_loop()
            around = GateSurroundings(
                self.hold_offs, self.decide, self.is_news, self.record, loop.time, lambda: NOW_S
            )
            queue = GateQueue(make_gate(**changes), self.relay, around)
            self.serving = asyncio.create_task(queue.serve())
            await act(queue)
            if is_stopped:
                queue.ask_to_stop()
            else:
                self.serving.cancel()
            await asyncio.wait({self.serving})
            await queue.close()
            return queue

        return run_virtually(main())

    def serve(self, *requests: OpeningRequest, wait_s: float = 60, **changes: Any) -> list[Any]:
        """Serve requests for a while; return outcome and reason of each record."""

        async def act(queue: GateQueue) -> None:
            for request in requests:
                queue.put(request)
            await asyncio.sleep(wait_s)

        self.run(act, **changes)
        return [(opening.outcome, opening.reason) for opening in self.openings]

    def decide(self, _: object, request: OpeningRequest) -> tuple[Decision, OpeningRequest]:
        self.decided_at_s.append(asyncio.get_running_loop().time())
        code = self.refusals.get(request.pass_id, "")
        return Decision(code), replace(request, list="as it is now")

    def is_news(self, request: OpeningRequest, reason: str) -> bool:
        key = request.pass_id, reason
        is_news = key not in self.told
        self.told.add(key)
        return is_news

    def record(self, opening: GateOpening) -> None:
        self.recorded_at_s.append(asyncio.get_running_loop().time())
        self.openings.append(opening)


def test_a_relay_that_cannot_be_reached_fails_in_time_and_the_next_has_its_turn() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 4))

    assert driveway.serve(REQUEST, OTHER) == [("failed", "cannot connect"), ("opened", "")]
    assert driveway.recorded_at_s[0] == pytest.approx(1.4)
    assert driveway.recorded_at_s[0] <= RETRY_S
    assert driveway.openings[0].delay_s is None


def test_it_is_decided_again_before_each_attempt() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 9))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(0.1)
        driveway.refusals["p1"] = "unlisted"
        await asyncio.sleep(10)

    driveway.run(act)
    assert driveway.relay.switched == ["on"]
    assert [(opening.outcome, opening.reason) for opening in driveway.openings] == [
        ("failed", "cannot connect")
    ]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        pytest.param("no answer", "no answer", id="lost-answer"),
        pytest.param(RelayError("status 500"), "status 500", id="server-error"),
        pytest.param(KeyError("secret"), "KeyError", id="error-of-a-package"),
        pytest.param(None, "the relay does not answer", id="hangs"),
    ],
)
def test_what_may_have_been_done_is_not_asked_again(failure: Any, reason: str) -> None:
    driveway = Driveway(ScriptedRelay([failure]))

    assert driveway.serve(REQUEST) == [("unknown", reason)]
    assert driveway.relay.switched == ["on"]
    assert driveway.openings[0].delay_s is None
    assert driveway.recorded_at_s[0] <= ATTEMPT_S


def test_an_attempt_that_is_cancelled_counts_as_one_that_may_have_opened() -> None:
    driveway = Driveway(ScriptedRelay([None]))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(1)

    queue = driveway.run(act, is_stopped=False)
    assert [(opening.outcome, opening.reason) for opening in driveway.openings] == [
        ("unknown", "the request was interrupted")
    ]
    assert driveway.hold_offs.has_asked(queue.gate, "p1")


def test_a_failure_is_shown_until_the_next_vehicle_is_served() -> None:
    driveway = Driveway(ScriptedRelay(["status 500"]))
    errors = []

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(1)
        errors.append(queue.status.error)
        queue.put(OTHER)
        await asyncio.sleep(1)
        errors.append(queue.status.error)

    driveway.run(act)
    assert errors == ["status 500", ""]


def test_an_opening_by_another_process_is_awaited_as_well() -> None:
    driveway = Driveway()

    async def act(queue: GateQueue) -> None:
        driveway.hold_offs.add(make_opening(), 0)
        queue.put(REQUEST)
        await asyncio.sleep(5)
        driveway.hold_offs.add(make_opening(), 5)
        await asyncio.sleep(60)

    driveway.run(act, open_s=7)
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

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(5)
        queue.put(REQUEST)
        await asyncio.sleep(5)

    driveway.run(act)
    assert [opening.reason for opening in driveway.openings] == [reason]


def test_the_relay_is_switched_off_after_the_pulse() -> None:
    relay = ScriptedRelay(needs_off=True)
    driveway = Driveway(relay)
    switched = []

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(2.9)
        switched.append([*relay.switched])
        await asyncio.sleep(0.2)
        switched.append([*relay.switched])

    driveway.run(act, pulse_s=3)
    assert switched == [["on"], ["on", "off"]]


def test_the_relay_is_switched_off_where_it_may_be_on() -> None:
    driveway = Driveway(ScriptedRelay(["no answer"], needs_off=True))
    driveway.serve(REQUEST, pulse_s=0.1)

    assert driveway.relay.switched == ["on", "off"]


def test_the_relay_is_not_switched_off_where_it_is_not_on() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 4, needs_off=True))
    driveway.serve(REQUEST, pulse_s=0.1)

    assert set(driveway.relay.switched) == {"on"}


def test_a_pulse_is_ended_after_a_restart_of_its_task() -> None:
    relay = ScriptedRelay(["", None], needs_off=True)
    driveway = Driveway(relay)

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(1.5)
        driveway.serving.cancel()
        await asyncio.wait({driveway.serving})
        driveway.serving = asyncio.create_task(queue.serve())
        await asyncio.sleep(1)

    driveway.run(act, pulse_s=1)
    assert relay.switched == ["on", "off", "off"]


def test_a_relay_that_stays_on_is_told_once_and_tried_until_it_is_off() -> None:
    relay = ScriptedRelay(["", *["away"] * 160], needs_off=True)
    driveway = Driveway(relay)

    assert driveway.serve(REQUEST, pulse_s=1, wait_s=300) == [
        ("opened", ""),
        ("failed", "the relay may still be on: away"),
    ]
    assert 1 + OFF_S - 0.5 < driveway.recorded_at_s[1] <= 1 + OFF_S
    assert relay.script == []
    assert relay.switched[-1] == "off"


def test_a_relay_that_stays_on_for_long_is_tried_now_and_then_and_told_once() -> None:
    relay = ScriptedRelay(["", *["away"] * 999], needs_off=True)
    driveway = Driveway(relay)
    driveway.serve(REQUEST, pulse_s=1, wait_s=1 + OFF_S + 10 * OFF_AGAIN_S)

    assert len(driveway.openings) == 2
    assert relay.switched.count("off") == pytest.approx(OFF_S / 0.2 + 10, abs=20)


def test_a_relay_that_stays_on_does_not_hold_up_the_next_vehicle() -> None:
    relay = ScriptedRelay(needs_off=True)
    driveway = Driveway(relay)

    async def act(queue: GateQueue) -> None:
        relay.script = ["", *["away"] * 999]
        queue.put(REQUEST)
        await asyncio.sleep(OFF_S + 5)
        relay.script = ["away", ""]
        queue.put(OTHER)
        await asyncio.sleep(OFF_AGAIN_S + 2)

    driveway.run(act, pulse_s=1)
    assert [opening.outcome for opening in driveway.openings] == ["opened", "failed", "opened"]
    assert relay.switched[-1] == "off"


def test_vehicles_that_wait_when_the_gate_is_stopped_stay() -> None:
    driveway = Driveway()

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(1)
        queue.put(OTHER)
        await asyncio.sleep(1)

    queue = driveway.run(act, open_s=600)
    assert queue.waiting == (OTHER,)
    assert len(driveway.openings) == 1


def test_a_vehicle_whose_relay_is_away_stays_when_the_gate_is_stopped() -> None:
    driveway = Driveway(ScriptedRelay([AWAY] * 9))

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        await asyncio.sleep(0.1)

    queue = driveway.run(act)
    assert queue.waiting == (REQUEST,)
    assert driveway.relay.switched == ["on"]
    assert driveway.openings == []


def test_a_relay_that_does_not_close_does_not_hold_up_the_end() -> None:
    class Clinging(ScriptedRelay):
        async def close(self) -> None:
            await asyncio.Event().wait()

    assert Driveway(Clinging()).serve(REQUEST) == [("opened", "")]


@pytest.mark.parametrize("steps", range(8))
def test_nothing_is_decided_after_the_order_to_stop(steps: int) -> None:
    way = Driveway()
    decided: list[float] = []

    async def act(queue: GateQueue) -> None:
        queue.put(REQUEST)
        for _ in range(steps):  # of the loop
            await asyncio.sleep(0)
        decided.extend(way.decided_at_s)
        queue.ask_to_stop()

    queue = way.run(act)
    assert way.decided_at_s == decided
    assert queue.waiting == (() if decided else (REQUEST,))
