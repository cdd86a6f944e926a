"""A gate's queue with its relay, lists and records, in virtual time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from plate_cameras.gates.begun_openings import BegunOpenings
from plate_cameras.gates.conditions import Decision
from plate_cameras.gates.gate_queue import GateQueue
from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest
from plate_cameras.gates.turns import GateSurroundings
from plate_cameras.store.openings.gate_openings import AgedOpening, GateOpening
from tests.plate_cameras.gates.known_vehicles import NOW_S, TEXT, ScriptedRelay, make_gate
from tests.virtual_time import run_virtually

REQUEST = OpeningRequest("north", "gate", "p1", TEXT, "residents", TEXT, readable_s=-0.4)
OTHER = replace(REQUEST, pass_id="p2", text="M456OP199", entry_text="M456OP199")
AWAY = NotSwitchedError("cannot connect")
Step = OpeningRequest | float | Callable[[GateQueue], object]
"""A vehicle that comes, a time that passes, or a call."""


@dataclass
class Driveway:
    """A gate with its relay, lists and records. The steady time is that of the loop.

    Attributes:
        relay: Its relay.
        refusals: Codes of the reasons for refusals, by pass. Others are permitted.
        openings: The recorded openings.
        recorded_at_s: Steady times of the records.
        decided_at_s: Steady times of the decisions.
        hold_offs: The last openings.
        elsewhere: Openings by other watchers, of which the gate learns when it begins.
        begun: Openings that have begun and were not withdrawn.
        recorded_reasons: Recorded passes and reasons.
        serving: The task that serves the vehicles.
    """

    relay: ScriptedRelay = field(default_factory=ScriptedRelay)
    refusals: dict[str, str] = field(default_factory=dict)
    openings: list[GateOpening] = field(default_factory=list)
    recorded_at_s: list[float] = field(default_factory=list)
    decided_at_s: list[float] = field(default_factory=list)
    hold_offs: HoldOffs = field(default_factory=HoldOffs)
    elsewhere: list[GateOpening] = field(default_factory=list)
    begun: list[GateOpening] = field(default_factory=list)
    recorded_reasons: set[tuple[str, str]] = field(default_factory=set)
    serving: asyncio.Task[None] = field(init=False)

    def run(self, *steps: Step, is_stopped: bool = True, **changes: Any) -> GateQueue:
        """Make the steps beside the queue, which is stopped or cancelled at the end."""

        async def main() -> GateQueue:
            loop = asyncio.get_running_loop()
            around = GateSurroundings(
                self.hold_offs,
                BegunOpenings(self, self.hold_offs, loop.time),
                self.decide,
                self.is_news,
                self.record,
                loop.time,
                lambda: NOW_S,
            )
            queue = GateQueue(make_gate(**changes), self.relay, around)
            self.serving = asyncio.create_task(queue.serve())
            for step in steps:
                await take(queue, step)
            if is_stopped:
                queue.ask_to_stop()
            else:
                self.serving.cancel()
            await asyncio.wait({self.serving})
            await queue.close()
            return queue

        return run_virtually(main())

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(opening.outcome, opening.reason) for opening in self.openings]

    def decide(self, _: object, request: OpeningRequest) -> tuple[Decision, OpeningRequest]:
        self.decided_at_s.append(asyncio.get_running_loop().time())
        code = self.refusals.get(request.pass_id, "")
        return Decision(code), replace(request, list="as it is now")

    def begin(self, opening: GateOpening, *_: object) -> list[AgedOpening]:
        if not self.elsewhere:
            self.begun.append(opening)
        return [(self.elsewhere.pop(), 1.0)] if self.elsewhere else []

    def withdraw(self, id_: str) -> None:
        self.begun = [opening for opening in self.begun if opening.id != id_]

    def is_news(self, request: OpeningRequest, reason: str) -> bool:
        key = request.pass_id, reason
        is_news = key not in self.recorded_reasons
        self.recorded_reasons.add(key)
        return is_news

    def record(self, opening: GateOpening) -> None:
        self.recorded_at_s.append(asyncio.get_running_loop().time())
        self.openings.append(opening)


async def take(queue: GateQueue, step: Step) -> None:
    if isinstance(step, OpeningRequest):
        queue.put(step)
    elif isinstance(step, (int, float)):
        await asyncio.sleep(step)
    else:
        step(queue)
