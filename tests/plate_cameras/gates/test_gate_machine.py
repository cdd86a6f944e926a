"""Random histories of a gate: no vehicle without permission enters, whatever happens.

HISTORIES=20000 tries 20,000 histories instead of 150, and shortens a failing one.
"""

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plate_cameras.configuration import Schedule
from plate_cameras.store.lists.list_lookup import ListEntry
from tests.plate_cameras.gates.driveway import DAY, NIGHT, TEXTS
from tests.plate_cameras.gates.gate_world import GateWorld

HISTORIES = int(os.environ.get("HISTORIES", "0"))
SHORTENED = Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink
"""True if a failing history is shortened, which is done if many are tried."""
HOUR_S = 3600.0
GETS_IN_S = 6.0
"""Longest wait of a vehicle with permission after the end of all faults."""

texts = st.sampled_from(TEXTS)
sides = st.sampled_from(["", "left", "right"])
directions = st.sampled_from(["", "towards", "towards", "away"])
zones = st.sampled_from([("entry",), ("entry",), ("far",), ("far", "entry"), ()])
moods = st.sampled_from(["well", "well", "slow", "silent", "lost", "away", "broken"])


class GateMachine(RuleBasedStateMachine):
    """A state machine: vehicles, lists, clocks, cameras and relays change at random."""

    def __init__(self) -> None:
        super().__init__()
        self.world = GateWorld()

    def teardown(self) -> None:
        self.world.close()

    @initialize(first=texts, second=texts)
    def begin(self, first: str, second: str) -> None:
        self.world.put_entry(ListEntry(first))
        self.world.put_entry(ListEntry(second))
        self.world.reload(open_s=6.0)
        self.world.wait(1.2)

    @rule(
        text=texts,
        camera=st.sampled_from(["gate", "gate", "yard"]),
        agreeing=st.sampled_from([2, 2, 1]),
    )
    def appear(self, text: str, camera: str, agreeing: int) -> None:
        self.world.appear(text, camera, agreeing=agreeing)

    @precondition(lambda self: self.world.store.entries)
    @rule(data=st.data(), camera=st.sampled_from(["gate", "gate", "yard"]))
    def appear_listed(self, data: st.DataObject, camera: str) -> None:
        self.world.appear(data.draw(st.sampled_from([*self.world.store.entries])), camera)

    @rule(text=texts, direction=directions, side=sides, zones=zones)
    def appear_elsewhere(
        self, text: str, direction: str, side: str, zones: tuple[str, ...]
    ) -> None:
        self.world.appear(text, direction=direction, side=side, zones=zones)

    @precondition(lambda self: self.world.vehicles)
    @rule(
        data=st.data(),
        text=texts,
        agreeing=st.sampled_from([1, 2, 2]),
        score=st.sampled_from([0.97, 0.85, 0.97]),
    )
    def read_otherwise(self, data: st.DataObject, text: str, agreeing: int, score: float) -> None:
        pass_id = data.draw(st.sampled_from([*self.world.vehicles]))
        self.world.change(pass_id, text=text, agreeing=agreeing, score=score)

    @precondition(lambda self: self.world.vehicles)
    @rule(data=st.data(), direction=directions, side=sides, zones=zones)
    def drive(self, data: st.DataObject, direction: str, side: str, zones: tuple[str, ...]) -> None:
        pass_id = data.draw(st.sampled_from([*self.world.vehicles]))
        self.world.change(pass_id, direction=direction, side=side, zones=zones)

    @precondition(lambda self: self.world.vehicles)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.world.leave(data.draw(st.sampled_from([*self.world.vehicles])))

    @precondition(lambda self: self.world.vehicles)
    @rule(data=st.data(), is_hidden=st.booleans())
    def hide(self, data: st.DataObject, is_hidden: bool) -> None:
        pass_id = data.draw(st.sampled_from([*self.world.vehicles]))
        self.world.hide(pass_id, is_hidden=is_hidden)

    @rule(is_blind=st.booleans())
    def blind(self, is_blind: bool) -> None:
        self.world.is_blind = is_blind

    @rule(
        text=texts,
        edits=st.sampled_from([0, 0, 1]),
        from_s=st.sampled_from([None, None, 3.0]),
        until_s=st.sampled_from([None, None, 6.0]),
    )
    def put_entry(self, text: str, edits: int, from_s: float | None, until_s: float | None) -> None:
        now_s = self.world.store.unix_s_now()
        begins = None if from_s is None else now_s + from_s
        ends = None if until_s is None else now_s + until_s
        self.world.put_entry(ListEntry(text, "", begins, ends, edits))

    @precondition(lambda self: self.world.store.entries)
    @rule(data=st.data())
    def remove_entry(self, data: st.DataObject) -> None:
        self.world.remove_entry(data.draw(st.sampled_from([*self.world.store.entries])))

    @precondition(lambda self: self.world.store.entries)
    @rule(data=st.data())
    def drive_through(self, data: st.DataObject) -> None:
        """Other vehicles wait while the gate is open for a vehicle that has left."""
        pass_id = self.world.appear(data.draw(st.sampled_from([*self.world.store.entries])))
        self.world.wait(0.1)
        self.world.leave(pass_id)

    @rule(is_away=st.booleans())
    def database(self, is_away: bool) -> None:
        self.world.store.is_away = is_away

    @rule(seconds=st.sampled_from([-1.0, 1.0, -HOUR_S, HOUR_S, 11 * HOUR_S, -40 * 24 * HOUR_S]))
    def step_clock(self, seconds: float) -> None:
        self.world.step_clock(seconds)

    @rule(mood=moods)
    def relay(self, mood: str) -> None:
        self.world.mood = mood

    @rule(
        schedule=st.sampled_from([Schedule(), DAY, NIGHT]),
        fuzzy=st.booleans(),
        cameras=st.sampled_from([("gate",), ("gate", "yard"), ("yard",)]),
        zones=st.sampled_from([(), ("entry",)]),
        direction=st.sampled_from(["", "towards"]),
        open_s=st.sampled_from([0.0, 6.0, 12.0]),
    )
    def reload(self, **changes: object) -> None:
        self.world.reload(**changes)

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 12.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)

    @rule()
    def recover(self) -> None:
        """Without faults, all vehicles with permission enter, one after the other."""
        world, gate = self.world, self.world.gate
        world.recover()
        turns_s = len(world.vehicles) * max(gate.open_s, gate.pulse_s)
        world.wait(turns_s + GETS_IN_S)
        entries, candidates = world.store.entries, []
        for vehicle in world.vehicles.values():
            entry = world.find_entry(gate, vehicle.text, entries)
            if entry and not world.obstacle(gate, vehicle, entries):
                candidates.append(
                    (vehicle, world.is_held_off((vehicle.text, entry.text), turns_s + GETS_IN_S))
                )
        assert [vehicle for vehicle, is_held_off in candidates if not is_held_off] == []

    @invariant()
    def nothing_was_wrong(self) -> None:
        assert self.world.faults == []

    @invariant()
    def each_pass_was_asked_for_once(self) -> None:
        pass_ids = [request.pass_id for request in self.world.requests]
        assert len(pass_ids) == len({*pass_ids})

    @invariant()
    def no_task_has_failed(self) -> None:
        assert [status for status in self.world.controller.tasks.statuses if status.failures] == []


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(
    max_examples=HISTORIES or 150,
    stateful_step_count=30,
    phases=SHORTENED if HISTORIES else SHORTENED[:-1],
    deadline=None,
    suppress_health_check=[*HealthCheck],
)
