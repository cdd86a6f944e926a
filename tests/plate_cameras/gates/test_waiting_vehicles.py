"""Vehicles that wait at a gate during a change, in virtual time."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from plate_cameras.configuration import Schedule
from plate_cameras.store.lists.list_lookup import ListEntry
from tests.plate_cameras.gates.driveway import LISTED, NIGHT
from tests.plate_cameras.gates.gate_world import GateWorld

TEXT, OTHER = "A123BC77", LISTED
HOUR_S = 3600.0


def outcomes(world: GateWorld) -> list[tuple[str, str]]:
    return [(opening.outcome, opening.reason) for opening in world.openings]


def occupy(world: GateWorld) -> None:
    """Open the gate for another vehicle, which drives in."""
    vehicle = world.appear(OTHER)
    world.wait(0.01)
    world.leave(vehicle)
    assert outcomes(world)[-1] == ("opened", "")


@pytest.mark.parametrize("waits_s", [0.5, 15.0, 40.0, 900.0])
def test_a_vehicle_gets_in_once_it_is_put_on_the_list(world: GateWorld, waits_s: float) -> None:
    world.appear(TEXT)
    world.wait(waits_s)
    assert world.openings == []
    world.put_entry(ListEntry(TEXT))
    world.wait(2.1)
    assert outcomes(world) == [("opened", "")]
    assert world.openings[0].delay_s is not None
    assert world.openings[0].delay_s < 1


def test_a_schedule_that_begins_lets_a_vehicle_in_and_the_refusal_is_recorded_once(
    world: GateWorld,
) -> None:
    soon = datetime.fromtimestamp(world.store.unix_s_now()) + timedelta(minutes=10)
    world.reload(schedule=Schedule(start=f"{soon:%H:%M}", end="23:00"))
    world.appear(OTHER)
    world.wait(590)
    assert outcomes(world) == [("refused", "outside the gate's schedule")]
    world.wait(12)
    assert outcomes(world)[1:] == [("opened", "")]


def test_lists_that_become_fresh_let_a_vehicle_in(world: GateWorld) -> None:
    world.store.is_away = True
    world.wait(20)
    world.appear(OTHER)
    world.wait(20)
    assert outcomes(world) == [("refused", "the lists could not be read for 15 s")]
    world.store.is_away = False
    world.wait(2.1)
    assert outcomes(world)[1:] == [("opened", "")]


Change = Callable[[GateWorld, str], object]
"""A change while a vehicle waits. It takes the id of the vehicle's pass."""


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        pytest.param(
            lambda world, _: world.reload(hold_off_s=61.0), "opened", id="another-setting"
        ),
        pytest.param(
            lambda world, _: world.reload(cameras=("yard",)), "refused", id="another-camera"
        ),
        pytest.param(lambda world, _: world.reload(zones=("far",)), "refused", id="another-zone"),
        pytest.param(lambda world, _: world.reload(schedule=NIGHT), "refused", id="other-hours"),
        pytest.param(
            lambda world, _: world.reload(agreement_threshold=0.99), "refused", id="score"
        ),
        pytest.param(lambda world, _: world.reload(lists=("staff",)), "refused", id="another-list"),
        pytest.param(
            lambda world, _: world.take_gate_out(),
            "refused: the gate was taken out",
            id="the-gate-is-taken-out",
        ),
        pytest.param(
            lambda world, vehicle: world.change(vehicle, direction="away"),
            "refused",
            id="it-turned",
        ),
        pytest.param(
            lambda world, vehicle: world.change(vehicle, side="right"), "refused", id="it-went-back"
        ),
        pytest.param(
            lambda world, vehicle: world.change(vehicle, text="A128BC77"),
            "refused",
            id="another-text",
        ),
        pytest.param(
            lambda world, vehicle: world.change(vehicle, agreeing=1, text=OTHER),
            "refused",
            id="no-frames-agree",
        ),
        pytest.param(lambda world, vehicle: world.leave(vehicle), "has left", id="it-has-left"),
    ],
)
def test_what_holds_when_the_turn_of_a_vehicle_comes_decides(
    world: GateWorld, change: Change, outcome: str
) -> None:
    world.put_entry(ListEntry(TEXT))
    world.reload(open_s=8.0)
    world.wait(1.5)
    occupy(world)
    change(world, world.appear(TEXT))
    world.wait(60)
    first, second = outcomes(world)
    assert first == ("opened", "")
    assert outcome in ": ".join(second)


def test_a_camera_that_is_blind_for_long_opens_nothing_until_it_sees(world: GateWorld) -> None:
    world.appear(TEXT)
    world.is_blind = True
    world.wait(10.5)
    world.put_entry(ListEntry(TEXT))
    world.wait(300)
    assert outcomes(world) == [("refused", "the last frame is too old")]
    world.is_blind = False
    world.wait(2)
    assert outcomes(world)[1:] == [("opened", "")]


@pytest.mark.parametrize("step_s", [-40 * 24 * HOUR_S, -HOUR_S, -1.0, 1.0, HOUR_S, 24 * HOUR_S])
def test_a_clock_that_is_set_changes_no_hold_off(world: GateWorld, step_s: float) -> None:
    occupy(world)
    world.step_clock(step_s)
    second = world.appear(OTHER)
    world.wait(16)
    assert [outcome for outcome, _ in outcomes(world)] == ["opened", "refused"]
    world.wait(6)
    assert world.requests[1].pass_id == second
    assert world.requests[1].at_s - world.requests[0].at_s == pytest.approx(20, abs=1.1)


@pytest.mark.parametrize("mood", ["lost", "silent", "broken"])
def test_a_request_that_may_have_been_done_counts_as_an_opening(
    world: GateWorld, mood: str
) -> None:
    world.mood = mood
    first = world.appear(OTHER)
    world.wait(10)
    world.mood = "well"
    world.appear(OTHER)
    world.wait(5)
    assert [outcome for outcome, _ in outcomes(world)] == ["unknown", "refused"]
    assert [request.pass_id for request in world.requests] == [first]


def test_vehicles_wait_in_the_order_of_their_arrival_also_over_an_edit(world: GateWorld) -> None:
    world.put_entry(ListEntry(TEXT))
    world.put_entry(ListEntry("A128BC77"))
    world.reload(open_s=4.0)
    world.wait(1.5)
    occupy(world)
    second, third = world.appear(TEXT), world.appear("A128BC77")
    world.reload(open_s=5.0)
    world.wait(20)
    assert [request.pass_id for request in world.requests[1:]] == [second, third]


def test_texts_must_agree_anew_where_the_camera_wants_a_higher_score(world: GateWorld) -> None:
    world.store.is_away = True
    world.wait(20)
    world.appear(OTHER, score=0.95)
    world.reload_cameras(agreement_threshold=0.96)
    world.store.is_away = False
    world.wait(5)
    assert [outcome for outcome, _ in outcomes(world)] == ["refused"]


def test_one_vehicle_that_cannot_be_looked_at_does_not_keep_others_out(
    world: GateWorld, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TypeError):
        world.appear(TEXT, zones=None)
    world.put_entry(ListEntry(TEXT))
    world.appear("A128BC77")
    world.put_entry(ListEntry("A128BC77"))
    world.wait(10)
    assert [opening.text for opening in world.openings if opening.outcome == "opened"] == [
        "A128BC77"
    ]
    assert "task gates has failed" in caplog.text
