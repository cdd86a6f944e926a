"""Simulates a driveway with gates in virtual time, and knows the truth about it.

The simulation keeps its own record of vehicles, places and rights. So it judges openings without
the code of the gates.
"""

import asyncio
import operator
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from plate_cameras.configuration import Configuration, Schedule
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, RelayError
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.setting_parts import Gate
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.driveway import (
    CAMERAS,
    GATE,
    RelayRequest,
    SeenVehicle,
    WorldStore,
)
from tests.plate_cameras.gates.known_vehicles import make_pass
from tests.virtual_time import VirtualLoop

LOOK_EVERY_S = 0.5
OLDEST_FRAME_S = 10.0
"""Greatest age of the last frame that shows a vehicle."""
ROUNDING_S = 1e-6
"""Rounding error of sums of times, in seconds."""


class WorldRelay:
    """A relay whose answers the test chooses. It reports each request to the world."""

    needs_off = False

    def __init__(self, world: "GateWorld", gate: Gate) -> None:
        self._world = world
        self._gate = gate

    async def prepare(self) -> None: ...

    async def switch_on(self, request: OpeningRequest) -> None:
        mood = self._world.mood
        if mood == "away":
            self._world.judge_attempt(self._gate, request)
            raise NotSwitchedError("cannot connect")
        self._world.note_request(self._gate, request)
        if mood == "slow":
            await asyncio.sleep(2.0)
        if mood == "silent":
            await asyncio.Event().wait()
        if mood == "lost":
            raise RelayError("the connection was lost")
        if mood == "broken":
            raise KeyError("a package's error")

    async def switch_off(self) -> None: ...
    async def close(self) -> None: ...


class GateWorld:
    """The simulation. Each rule of the state machine calls one method, and then time passes."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.store = WorldStore()
        self.store.loop = self.loop
        self.gate = GATE
        self.mood = "well"
        self.is_blind = False
        self.vehicles: dict[str, SeenVehicle] = {}
        self.requests: list[RelayRequest] = []
        self.openings: list[GateOpening] = []
        self.faults: list[str] = []
        self.fresh_at_s = 0.0
        self.number = 0
        self.run(self._start())

    # What happens

    def appear(self, text: str, camera: str = "gate", **changes: Any) -> str:
        self.number += 1
        vehicle = SeenVehicle(f"pass-{self.number}", camera, text, **changes)
        self.vehicles[vehicle.pass_id] = vehicle
        self._tell(vehicle, "agreed")
        return vehicle.pass_id

    def change(self, pass_id: str, **changes: Any) -> None:
        """Change the readings of a vehicle. Frames that agreed on an earlier text still count."""
        before = self.vehicles[pass_id]
        earlier = {**before.earlier, before.text: before.agreeing}
        vehicle = replace(before, earlier=earlier, **changes)
        vehicle.agreeing = max(vehicle.agreeing, earlier.get(vehicle.text, 0))
        self.vehicles[pass_id] = vehicle
        self._tell(vehicle, "updated")

    def leave(self, pass_id: str) -> None:
        self._tell(self.vehicles.pop(pass_id), "closed")

    def hide(self, pass_id: str, *, is_hidden: bool) -> None:
        self.vehicles[pass_id].is_hidden = is_hidden

    def put_entry(self, entry: ListEntry) -> None:
        self.store.entries[entry.text] = entry
        self.store.revision += 1

    def remove_entry(self, text: str) -> None:
        self.store.entries.pop(text, None)
        self.store.revision += 1

    def step_clock(self, seconds: float) -> None:
        self.store.unix_s += seconds

    def reload(self, **changes: Any) -> None:
        self.run(self._reload(replace(self.gate, **changes)))

    async def _reload(self, gate: Gate) -> None:
        """Reload the gate's settings; no other task runs in between."""
        self.gate = gate
        relays = {"north": WorldRelay(self, gate)}
        await self.controller.apply(Configuration(CAMERAS, gates=(gate,)), relays)

    def reload_cameras(self, **changes: Any) -> None:
        cameras = tuple(replace(camera, **changes) for camera in CAMERAS)
        self.run(self.controller.apply(Configuration(cameras, gates=(self.gate,)), {}))

    def take_gate_out(self) -> None:
        self.run(self.controller.apply(Configuration(CAMERAS), {}))

    def restart(self) -> None:
        """Stop the gates, and start them with the vehicles that still stand there."""
        self.run(self._stop())
        self.run(self._start())
        for vehicle in self.vehicles.values():
            self._tell(vehicle, "updated")

    def wait(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def recover(self) -> None:
        """End all faults."""
        self.mood, self.is_blind, self.store.is_away = "well", False, False
        for vehicle in self.vehicles.values():
            vehicle.is_hidden = False

    def close(self) -> None:
        try:
            self.run(self._stop())
        finally:
            self.loop.close()

    # What is true

    @property
    def now_s(self) -> float:
        return self.loop.time()

    def obstacle(self, gate: Gate, vehicle: SeenVehicle, entries: dict[str, ListEntry]) -> str:
        """Return the reason why a vehicle may not enter now; empty if it may."""
        checks = {
            "camera": vehicle.camera in gate.cameras,
            "zone": not gate.zones or bool({*gate.zones} & {*vehicle.zones}),
            "direction": not gate.direction or vehicle.direction == gate.direction,
            "line": not gate.lines or (bool(vehicle.side) and gate.side in ("", vehicle.side)),
            "agreed": vehicle.agreeing >= 2,
            "score": vehicle.score >= max(0.9, gate.agreement_threshold),
            "entry": self.find_entry(gate, vehicle.text, entries) is not None,
            "hours": self.is_hour_of(gate.schedule),
            "seen": self.now_s - vehicle.shown_s <= OLDEST_FRAME_S + ROUNDING_S,
            "asked": not any(request.pass_id == vehicle.pass_id for request in self.requests),
        }
        return next((name for name, holds in checks.items() if not holds), "")

    def is_hour_of(self, schedule: Schedule) -> bool:
        """Tell whether the time is within the schedule's hours; the schedule has all days."""
        now = f"{datetime.fromtimestamp(self.store.unix_s_now()):%H:%M}"
        if schedule.start < schedule.end:
            return schedule.start <= now < schedule.end
        return now >= schedule.start or now < schedule.end

    def find_entry(self, gate: Gate, text: str, entries: dict[str, ListEntry]) -> ListEntry | None:
        now_s = self.store.unix_s_now()
        for entry in entries.values():
            begins, ends = entry.valid_from_s or 0.0, entry.valid_until_s or float("inf")
            edits = sum(map(operator.ne, entry.text, text))
            max_edits = entry.edits if gate.fuzzy else 0
            if begins <= now_s < ends and edits <= max_edits and len(entry.text) == len(text):
                return entry
        return None

    def is_held_off(self, texts: Sequence[str], more_s: float = 0.0) -> bool:
        longest_s = self.gate.hold_off_s + more_s - ROUNDING_S
        return any(
            self.now_s - request.at_s < longest_s and {*request.texts} & {*texts}
            for request in self.requests
        )

    def is_open(self) -> bool:
        open_s = max(self.gate.open_s, self.gate.pulse_s) - ROUNDING_S
        return any(self.now_s - request.at_s < open_s for request in self.requests)

    def judge_attempt(self, gate: Gate, request: OpeningRequest) -> None:
        """Record the faults of an attempt to open a gate now."""
        vehicle = self.vehicles.get(request.pass_id)
        if vehicle is None:
            self.faults.append(f"opened for {request.pass_id}, which is not there")
            return
        if gate != self.gate:
            self.faults.append("opened by a gate of an earlier configuration")
        if obstacle := self.obstacle(gate, vehicle, self.store.read_entries):
            self.faults.append(f"opened for {vehicle}: {obstacle}")
        if request.text != vehicle.text:
            self.faults.append(f"opened for {request.text}, which has become {vehicle.text}")
        if self.now_s - self.fresh_at_s > gate.stale_lists_s + ROUNDING_S:
            self.faults.append("opened by lists that are too old")
        if self.is_held_off((request.text, request.entry_text)):
            self.faults.append(f"opened for {request.text} within the hold-off")
        if self.is_open():
            self.faults.append("opened while the gate was open")

    def note_request(self, gate: Gate, request: OpeningRequest) -> None:
        self.judge_attempt(gate, request)
        texts = (request.text, request.entry_text)
        self.requests.append(RelayRequest(self.now_s, request.gate, request.pass_id, texts))
        self.store.requested_s[request.pass_id] = self.now_s

    # How it works

    def run(self, coroutine: Any) -> None:
        self.loop.run_until_complete(coroutine)

    def _tell(self, vehicle: SeenVehicle, kind: Any) -> None:
        if kind != "closed" and not (self.is_blind or vehicle.is_hidden):
            vehicle.shown_s = self.now_s
        looks = max(vehicle.agreeing, 1)
        vehicle_pass = make_pass(
            vehicle.text,
            looks=looks,
            id=vehicle.pass_id,
            camera=vehicle.camera,
            zones=vehicle.zones,
            direction=vehicle.direction,
            crossings=vehicle.crossings,
            text_score=vehicle.score,
            last_moment_s=vehicle.shown_s,
        )
        self.controller.offer(PassEvent(kind, vehicle_pass))
        self.wait(0)

    async def _look_on(self) -> None:
        while True:
            for vehicle in self.vehicles.values():
                if not (self.is_blind or vehicle.is_hidden):
                    vehicle.shown_s = self.now_s
                    sighting = Sighting(vehicle.camera, (vehicle.pass_id,), self.now_s)
                    self.controller.see(sighting)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _read_on(self) -> None:
        while True:
            await self.lists.read()
            if not self.store.is_away:
                self.fresh_at_s = self.now_s
            await asyncio.sleep(1.0)

    async def _start(self) -> None:
        hold_offs = HoldOffs()
        self.lists = KnownLists(self.store, hold_offs, self.loop.time)
        self.recorder = OpeningRecorder(self.store)
        self.controller = GateController(
            self.lists,
            self.recorder,
            hold_offs,
            self.openings.append,
            clock=self.loop.time,
            unix_clock=self.store.unix_s_now,
        )
        await self.lists.read()
        if not self.store.is_away:
            self.fresh_at_s = self.now_s
        relays = {"north": WorldRelay(self, self.gate)}
        await self.controller.apply(Configuration(CAMERAS, gates=(self.gate,)), relays)
        around = (self._look_on(), self._read_on(), self.recorder.run())
        self.around = [asyncio.ensure_future(coroutine) for coroutine in around]

    async def _stop(self) -> None:
        await self.controller.stop()
        for task in self.around:
            task.cancel()
        await asyncio.wait(self.around)
        await self.recorder.close(1.0)
