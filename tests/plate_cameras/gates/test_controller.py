"""The controller's choice of gates for each vehicle, and its records, in virtual time."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from plate_cameras.configuration import Configuration, Gate
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.driveway import CAMERAS, GATE, LISTED
from tests.plate_cameras.gates.gate_world import GateWorld
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_opening


def add_gate(
    world: GateWorld, relay: ScriptedRelay, name: str = "south", **changes: object
) -> Gate:
    """Add a gate like that of the simulation, with other settings and a scripted relay."""
    gate = replace(world.gate, name=name, **changes)
    configuration = Configuration(CAMERAS, gates=(world.gate, gate))
    world.run(world.controller.apply(configuration, {name: relay}))
    return gate


def test_two_gates_open_for_one_vehicle(world: GateWorld) -> None:
    add_gate(world, ScriptedRelay())
    world.appear(LISTED)
    world.wait(0.1)
    assert sorted((opening.gate, opening.outcome) for opening in world.openings) == [
        ("north", "opened"),
        ("south", "opened"),
    ]


def test_a_gate_that_hangs_does_not_delay_another(world: GateWorld) -> None:
    add_gate(world, ScriptedRelay([None] * 9))
    world.appear(LISTED)
    world.wait(0.1)
    assert [(opening.gate, opening.outcome) for opening in world.openings] == [("north", "opened")]


def test_a_text_that_was_agreed_stays_so_while_the_score_wavers(world: GateWorld) -> None:
    add_gate(world, ScriptedRelay(), agreement_threshold=0.0)
    world.change(world.appear(LISTED, zones=("far",)), zones=("entry",), score=0.85)
    world.wait(0.1)
    assert {(opening.gate, opening.outcome) for opening in world.openings} == {
        ("north", "refused"),
        ("south", "opened"),
    }


@pytest.mark.parametrize("other", ["", "M455OP199"])
def test_a_text_that_comes_back_after_another_must_agree_anew(world: GateWorld, other: str) -> None:
    gate = add_gate(world, ScriptedRelay(), agreement_threshold=0.0)
    vehicle = world.appear(LISTED, zones=("far",))
    world.change(vehicle, text=other, agreeing=1, score=0.7)
    world.change(vehicle, text=LISTED, zones=("entry",), score=0.8)
    world.wait(2)
    assert world.openings == []
    world.change(vehicle, score=0.97)
    world.wait(0.1)
    assert (gate.name, "opened") in [(opening.gate, opening.outcome) for opening in world.openings]


@pytest.mark.parametrize(
    ("pass_id", "after_s", "outcome"),
    [
        pytest.param("pass-1", 0.1, "refused", id="while it is open for the vehicle"),
        pytest.param("pass-1", GATE.open_s + 0.1, "opened", id="when it has closed"),
        pytest.param("pass-2", 0.1, "opened", id="for another vehicle, in its turn"),
        pytest.param("", 0.1, "opened", id="for no vehicle, in its turn"),
    ],
)
def test_a_command_does_not_open_a_gate_again_behind_its_vehicle(
    world: GateWorld, pass_id: str, after_s: float, outcome: str
) -> None:
    relay = ScriptedRelay()
    add_gate(world, relay)
    world.appear(LISTED)
    world.wait(after_s)
    command = make_opening(gate="south", pass_id=pass_id, outcome="begun", person="anna")
    world.controller.open(command, world.now_s)
    world.wait(GATE.open_s + 1)
    (record,) = [opening for opening in world.openings if opening.person]
    assert record.outcome == outcome
    assert len(relay.calls) == 1 + (outcome == "opened")


def test_the_delay_counts_from_the_first_frame_that_shows_the_plate(world: GateWorld) -> None:
    world.appear(LISTED)
    world.wait(0.1)
    assert world.openings[0].delay_s == pytest.approx(1.5)


def test_the_delay_counts_from_the_last_condition(world: GateWorld) -> None:
    vehicle = world.appear(LISTED, zones=("far",))
    world.wait(3)
    assert world.openings == []
    world.change(vehicle, zones=("far", "entry"))
    world.wait(0.1)
    assert world.openings[0].delay_s == pytest.approx(0, abs=0.01)


def test_gates_that_stay_the_same_keep_their_relays_and_others_are_closed(
    world: GateWorld,
) -> None:
    relay = ScriptedRelay()
    south = add_gate(world, relay)
    other = replace(south, hold_off_s=5)
    assert world.controller.find_changed((world.gate, south)) == []
    assert world.controller.find_changed((world.gate, other)) == [other]
    add_gate(world, ScriptedRelay(), hold_off_s=5)
    assert relay.is_closed
    world.appear(LISTED)
    world.wait(0.1)
    assert len(world.requests) == 1


def test_the_state_counts_outcomes_and_delays(world: GateWorld) -> None:
    world.appear(LISTED)
    world.appear(LISTED)
    world.wait(5)
    (status,) = world.controller.statuses
    assert status.outcomes == {"opened": 1, "unknown": 0, "failed": 0, "refused": 1}
    assert sum(status.delays.counts) == 1


class BrokenLog:
    """Keeps openings in a list after two failures."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.failures = 2

    def write(self, openings: Sequence[GateOpening]) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("database and disk are away")
        self.ids += [opening.id for opening in openings]


async def test_records_wait_in_memory_and_none_is_lost() -> None:
    log = BrokenLog()
    recorder, results = OpeningRecorder(log), list[bool]()
    for number in range(3):
        recorder.put(make_opening(id=f"{number}"))
        results.append(await recorder.flush())
    assert results == [False, False, True]
    assert log.ids == ["0", "1", "2"]
