"""Opens gates for passes. All of it runs in one event loop, and no call here waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.cameras.configuration import Configuration
from orchestrator.cameras.gate_settings import Gate
from orchestrator.cameras.gates.conditions import (
    find_hit,
    first_readable_s,
    is_in_place,
    is_recent,
    is_settled,
)
from orchestrator.cameras.gates.gate_queue import GateQueue, GateSurroundings
from orchestrator.cameras.gates.hold_offs import HoldOffs
from orchestrator.cameras.gates.known_lists import KnownLists
from orchestrator.cameras.gates.opening_recorder import OpeningRecorder
from orchestrator.cameras.gates.reasons import to_sentence
from orchestrator.cameras.gates.relay import OpeningRequest, Relay
from orchestrator.cameras.gates.status import GateStatus
from orchestrator.cameras.passes import Pass, PassEvent
from orchestrator.cameras.schedule import is_watched
from orchestrator.cameras.store.gate_openings import GateOpening
from orchestrator.cameras.store.list_lookup import ListHit

Clock = Callable[[], float]


@dataclass
class PresentPass:
    """A pass whose vehicle is still in front of its camera.

    Attributes:
        passed: The pass after its last event.
        settled_text: The last text on which two frames have agreed.
        readable_s: Unix time of the frame from which the delay counts.
        served: Names of the gates that were asked for it: each at most once.
        told: Gates and reasons of its refusals, so that each is recorded once.
    """

    passed: Pass
    settled_text: str = ""
    readable_s: float | None = None
    served: set[str] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)


class GateController:
    """Looks at the events of all passes, and hands vehicles to the queues of their gates.

    Args:
        lists: The lists in memory.
        recorder: Keeps what gates did.
        hold_offs: The last openings.
        tell: Takes what a gate did, to show it.
        clock: Returns the Unix time.
    """

    def __init__(
        self,
        lists: KnownLists,
        recorder: OpeningRecorder,
        hold_offs: HoldOffs,
        tell: Callable[[GateOpening], None],
        *,
        clock: Clock = time.time,
    ) -> None:
        self._lists = lists
        self._recorder = recorder
        self._tell = tell
        self._clock = clock
        self._around = GateSurroundings(hold_offs, self._is_present, self._record, clock)
        self._queues: dict[str, GateQueue] = {}
        self._present: dict[str, PresentPass] = {}
        self._thresholds: dict[str, float] = {}

    @property
    def statuses(self) -> tuple[GateStatus, ...]:
        return tuple(queue.status for queue in self._queues.values())

    async def apply(self, configuration: Configuration, relays: Mapping[str, Relay]) -> None:
        """Follow other gates; those that stay the same go on undisturbed.

        Args:
            configuration: The gates and cameras.
            relays: Relays of the gates that are new or have changed, by name.
        """
        gates = {one.name: one for one in configuration.gates}
        stopped = [name for name in self._queues if name in relays or name not in gates]
        await asyncio.gather(*(self._queues.pop(name).stop() for name in stopped))
        for name, relay in relays.items():
            self._queues[name] = GateQueue(gates[name], relay, self._around)
            self._queues[name].start()
        self._thresholds = {
            one.name: max(one.agreement_threshold, one.text_threshold)
            for one in configuration.cameras
        }
        self._lists.longest_hold_off_s = max((one.hold_off_s for one in gates.values()), default=0)

    def changed(self, gates: Sequence[Gate]) -> list[Gate]:
        """Return the gates that have no queue with the same settings."""
        known = {name: queue.gate for name, queue in self._queues.items()}
        return [one for one in gates if known.get(one.name) != one]

    def offer(self, event: PassEvent) -> None:
        """Look at an event, and open the gates whose conditions hold now."""
        passed = event.passed
        if event.kind == "closed":
            self._present.pop(passed.id, None)
            return
        present = self._present.setdefault(passed.id, PresentPass(passed))
        present.passed = passed
        if not self._settle(present):  # the place, a line or the direction has changed
            present.readable_s = None if passed.clock == "file" else passed.last_seen_s
        self._consider(present)

    def reconsider(self) -> None:
        """Look again at all vehicles that are present, because a list has changed."""
        for present in self._present.values():
            if present.readable_s is not None:
                present.readable_s = self._clock()  # the change of the list was the last condition
            self._consider(present)

    async def stop(self) -> None:
        """Stop all gates."""
        await asyncio.gather(*(queue.stop() for queue in self._queues.values()))
        self._queues.clear()

    def _settle(self, present: PresentPass) -> bool:
        """Note whether the text may open gates. Return whether it is new."""
        passed = present.passed
        if passed.text == present.settled_text:
            return False
        if not is_settled(passed, self._thresholds.get(passed.camera, 1.0)):
            return True
        present.settled_text, present.readable_s = passed.text, first_readable_s(passed)
        return True

    def _consider(self, present: PresentPass) -> None:
        if not present.passed.text or present.passed.text != present.settled_text:
            return
        for queue in self._queues.values():
            if queue.gate.name in present.served or not is_in_place(queue.gate, present.passed):
                continue
            hit = find_hit(
                queue.gate,
                self._lists.named(queue.gate.lists),
                present.passed.text,
                self._clock(),
            )
            if hit:
                self._serve(queue, present, hit)

    def _serve(self, queue: GateQueue, present: PresentPass, hit: ListHit) -> None:
        passed = present.passed
        request = OpeningRequest(
            gate=queue.gate.name,
            camera=passed.camera,
            pass_id=passed.id,
            text=passed.text,
            list=hit.list,
            entry_text=hit.entry.text,
            readable_s=present.readable_s,
        )
        if reason := self._refusal(queue.gate, passed):
            self._refuse(queue, present, request, reason)
            return
        present.served.add(queue.gate.name)
        queue.put(request)

    def _refusal(self, gate: Gate, passed: Pass) -> str:
        """Return why a gate does not open for a vehicle of its lists; empty if it does."""
        now_s = self._clock()
        if not is_watched(gate.schedule, datetime.fromtimestamp(now_s)):
            return to_sentence("schedule")
        if self._lists.age_s > gate.stale_lists_s:
            return to_sentence("stale_lists", age_s=f"{gate.stale_lists_s:g}")
        if passed.text_score < gate.agreement_threshold:
            return to_sentence("score", threshold=f"{gate.agreement_threshold:g}")
        if not is_recent(passed, now_s):
            return to_sentence("old_frame")
        return ""

    def _refuse(
        self, queue: GateQueue, present: PresentPass, request: OpeningRequest, reason: str
    ) -> None:
        if (queue.gate.name, reason) not in present.told:
            present.told.add((queue.gate.name, reason))
            queue.refuse(request, reason)

    def _is_present(self, request: OpeningRequest) -> bool:
        present = self._present.get(request.pass_id)
        return present is not None and present.passed.text == request.text

    def _record(self, opening: GateOpening) -> None:
        self._recorder.put(opening)
        with suppress(Exception):  # showing it must not stop a gate
            self._tell(opening)
