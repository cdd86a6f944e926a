"""Opens gates for passes. All of it runs in one event loop, and no call here waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import Configuration
from plate_cameras.gates.begun_openings import BegunOpenings
from plate_cameras.gates.conditions import (
    LEFT,
    Circumstances,
    Decision,
    PresentPass,
    decide,
    decide_command,
    first_readable_s,
    is_settled,
)
from plate_cameras.gates.gate_queue import GateQueue
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import OpeningRequest, Relay, watch_relay
from plate_cameras.gates.status import GateStatus
from plate_cameras.gates.turns import GateSurroundings
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import REFUSED, GateOpening

LOG = logging.getLogger(__name__)
RECONSIDER_EVERY_S = 1.0
"""Interval of the checks of all present vehicles: a schedule may begin, an entry may be added."""
STOP_S = 12.0
"""Longest wait for a gate that ends its pulse when it is stopped."""
COMMAND_FIELDS = ("gate", "camera", "pass_id", "text", "person")
RECONSIDERING = "gates"
"""Name of the task that checks present vehicles again."""

Clock = Callable[[], float]


class GateController:
    """Knows which vehicles are present, and lets them wait for their turn at their gates.

    Args:
        recorder: Keeps what gates did.
        tell: Takes what a gate did, to show it.
        unix_clock: Returns the Unix time, for schedules, the validity of entries and records.
    """

    def __init__(
        self,
        lists: KnownLists,
        recorder: OpeningRecorder,
        hold_offs: HoldOffs,
        tell: Callable[[GateOpening], None],
        *,
        clock: Clock = steady_s,
        unix_clock: Clock = unix_s,
    ) -> None:
        self._lists = lists
        self._recorder = recorder
        self._hold_offs = hold_offs
        self._tell = tell
        self._clock = clock
        self._unix_clock = unix_clock
        begun = BegunOpenings(recorder.log, hold_offs, clock)
        self._around = GateSurroundings(
            hold_offs, begun, self._decide_again, self._is_news, self._record, clock, unix_clock
        )
        self._tasks = BackgroundTasks(clock)
        self._serving_tasks: dict[str, asyncio.Task[None]] = {}
        self._queues: dict[str, GateQueue] = {}
        self._present_passes: dict[str, PresentPass] = {}
        self._thresholds: dict[str, float] = {}

    @property
    def statuses(self) -> tuple[GateStatus, ...]:
        return tuple(queue.status for queue in [*self._queues.values()])

    @property
    def tasks(self) -> BackgroundTasks:
        return self._tasks

    async def apply(self, configuration: Configuration, relays: Mapping[str, Relay]) -> None:
        """Follow other gates. Those that stay the same go on undisturbed.

        Vehicles that wait at a gate whose settings have changed go on waiting at it.
        """
        gates = {gate.name: gate for gate in configuration.gates}
        self._follow_cameras(configuration)
        times = (max(gate.hold_off_s, gate.open_s, gate.pulse_s) for gate in gates.values())
        self._lists.count_openings(max(times, default=0))
        self._lists.gates = configuration.gates
        names = [name for name in self._queues if name in relays or name not in gates]
        for name in names:  # before anything else runs: no gate opens by settings that have gone
            self._queues[name].ask_to_stop()
        queues = await asyncio.gather(*map(self._stop, names))
        former = {queue.gate.name: queue for queue in queues}
        for name, relay in relays.items():
            requests = former.pop(name).requests if name in former else ()
            self._start(GateQueue(gates[name], relay, self._around), requests)
        for queue in former.values():
            queue.refuse_all("gone_gate")
        if RECONSIDERING not in [status.name for status in self._tasks.statuses]:
            self._tasks.start(RECONSIDERING, self._reconsider_now_and_then)

    def find_changed(self, gates: Sequence[Gate]) -> list[Gate]:
        """Return the gates that have no queue with the same settings."""
        former = {name: queue.gate for name, queue in self._queues.items()}
        return [gate for gate in gates if former.get(gate.name) != gate]

    def offer(self, event: PassEvent) -> None:
        """Look at an event, and open the gates whose conditions hold now."""
        vehicle_pass = event.vehicle_pass
        if event.kind == "closed":
            self._present_passes.pop(vehicle_pass.id, None)
            return
        present = self._present_passes.setdefault(vehicle_pass.id, PresentPass(vehicle_pass))
        present.vehicle_pass = vehicle_pass
        if vehicle_pass.clock == "file":
            self._see(present, None)
        elif vehicle_pass.last_moment_s is not None:
            self._see(present, vehicle_pass.last_moment_s)
        if not self._settle(present):  # the place, a line or the direction has changed
            present.readable_s = (
                vehicle_pass.last_moment_s if vehicle_pass.clock != "file" else None
            )
        self._consider(present)

    def open(self, command: GateOpening, taken_s: float) -> None:
        """Let a person's command, which was taken at some time, wait for its turn at its gate."""
        values = {name: getattr(command, name) for name in COMMAND_FIELDS}
        if queue := self._queues.get(command.gate):
            queue.put(OpeningRequest(**values, command_id=command.id, taken_s=taken_s))
        else:  # it was taken out of the configuration meanwhile
            self._record(replace(command, outcome=REFUSED, reason=to_sentence("gone_gate")))

    def see(self, sighting: Sighting) -> None:
        """Note that a frame has shown some passes, of which nothing has changed."""
        for pass_id in sighting.pass_ids:
            present = self._present_passes.get(pass_id)
            if present and present.vehicle_pass.camera == sighting.camera:
                self._see(present, sighting.moment_s)

    def reconsider(self) -> None:
        """Look again at all vehicles that are present: something else may have changed.

        Raises:
            Exception: One vehicle could not be looked at; the others were.
        """
        failure: Exception | None = None
        for present in [*self._present_passes.values()]:
            try:
                self._consider(present, is_new=False)
            except Exception as error:
                failure = error
        if failure:
            raise failure

    async def stop(self) -> None:
        """Stop all gates. Vehicles that wait are refused."""
        await self._tasks.stop(RECONSIDERING)
        for queue in await asyncio.gather(*map(self._stop, [*self._queues])):
            queue.refuse_all("ended")

    async def _reconsider_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(RECONSIDER_EVERY_S)
            self.reconsider()

    def _start(self, queue: GateQueue, requests: Sequence[OpeningRequest]) -> None:
        name = queue.gate.name
        for request in requests:
            queue.put(request)
        self._queues[name] = queue
        self._serving_tasks[name] = self._tasks.start(f"gate {name}", queue.serve, ends=True)
        self._tasks.start(f"relay {name}", lambda: watch_relay(queue.relay, queue.status))

    async def _stop(self, name: str) -> GateQueue:
        """Stop a gate. Return its queue with the vehicles that still wait."""
        queue = self._queues.pop(name)
        queue.ask_to_stop()
        await asyncio.wait({self._serving_tasks.pop(name)}, timeout=STOP_S)
        await self._tasks.stop(f"gate {name}", f"relay {name}")
        await queue.close()
        return queue

    def _follow_cameras(self, configuration: Configuration) -> None:
        """Take over the thresholds of cameras; texts must agree anew where one has changed."""
        before = self._thresholds
        self._thresholds = {
            camera.name: max(camera.agreement_threshold, camera.text_threshold)
            for camera in configuration.cameras
        }
        for present in self._present_passes.values():
            camera = present.vehicle_pass.camera
            if before.get(camera) != self._thresholds.get(camera):
                present.settled_text = ""
                self._settle(present)

    def _see(self, present: PresentPass, moment_s: float | None) -> None:
        """Note a frame that shows a vehicle. Frames of files have no steady time, so now counts."""
        now_s = self._clock()
        moment_s = now_s if moment_s is None else min(moment_s, now_s)
        present.seen_s = max(present.seen_s, moment_s)

    def _settle(self, present: PresentPass) -> bool:
        """Note whether the text may open gates. Return whether it is new."""
        vehicle_pass = present.vehicle_pass
        if vehicle_pass.text == present.settled_text:
            return False
        if not is_settled(vehicle_pass, self._thresholds.get(vehicle_pass.camera, 1.0)):
            present.settled_text = ""  # an earlier text that comes back must agree anew
            return True
        present.settled_text, present.readable_s = vehicle_pass.text, first_readable_s(vehicle_pass)
        return True

    def _consider(self, present: PresentPass, *, is_new: bool = True) -> None:
        """Let a vehicle wait at the gates that may open for it now; record why others do not.

        Args:
            present: The vehicle.
            is_new: True if an event of its pass is the last condition, from which delays count.

        Raises:
            Exception: One gate could not be asked; the others were.
        """
        failure: Exception | None = None
        for queue in [*self._queues.values()]:
            try:
                self._consider_at(queue, present, is_new=is_new)
            except Exception as error:
                failure = error
        if failure:
            raise failure

    def _consider_at(self, queue: GateQueue, present: PresentPass, *, is_new: bool) -> None:
        if queue.has(present.vehicle_pass.id):
            return
        decision = self._decide(queue.gate, present)
        if decision.hit is None:
            return
        is_timed = present.readable_s is not None and not is_new
        readable_s = self._clock() if is_timed else present.readable_s
        request = OpeningRequest.of(queue.gate, present.vehicle_pass, decision.hit, readable_s)
        if decision.opens:
            queue.put(request)
        else:
            queue.refuse(request, decision.sentence, decision.code)

    def _decide(self, gate: Gate, present: PresentPass) -> Decision:
        now_s = self._unix_clock()
        now = Circumstances(
            steady_s=self._clock(),
            unix_s=now_s,
            local=datetime.fromtimestamp(now_s),
            lists=self._lists.find(gate.lists),
            lists_age_s=self._lists.age_s,
            hold_offs=self._hold_offs,
            blocked_lists=self._lists.find(gate.blocked_lists),
        )
        return decide(gate, present, now)

    def _decide_again(self, gate: Gate, request: OpeningRequest) -> tuple[Decision, OpeningRequest]:
        """Decide for a vehicle whose turn it is. Return the decision and the present request."""
        if request.command_id:
            return decide_command(gate, request, self._hold_offs, self._clock()), request
        present = self._present_passes.get(request.pass_id)
        if present is None:
            return LEFT, request
        decision = self._decide(gate, present)
        if decision.hit is None:
            return decision, request
        return decision, OpeningRequest.of(
            gate, present.vehicle_pass, decision.hit, request.readable_s
        )

    def _is_news(self, request: OpeningRequest, reason: str) -> bool:
        """Tell whether a reason is new for a vehicle, and note it."""
        present = self._present_passes.get(request.pass_id)
        key = request.gate, request.text, reason
        if present is None or request.command_id:
            return True
        is_news = key not in present.reasons
        present.reasons.add(key)
        return is_news

    def _record(self, opening: GateOpening) -> None:
        self._recorder.put(opening)
        try:
            self._tell(opening)
        except Exception:  # showing it must not stop a gate
            LOG.exception("gate %s: its record cannot be shown", opening.gate)
