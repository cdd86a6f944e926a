"""Directions, lines and zones of the passes that a tracker tells."""

from dataclasses import replace

from plate_cameras.configuration import Line, Zone
from plate_cameras.passes import LineCrossing
from tests.plate_cameras.passing import CAMERA, follow, new_tracker, plate


def test_two_unreadable_cars_that_meet_keep_their_directions() -> None:
    times = [number / 10 for number in range(21)]
    looks = [
        (time_s, [plate((200 + 200 * time_s, 150), ""), plate((600 - 200 * time_s, 160), "")])
        for time_s in times
    ]
    events = follow(new_tracker(), looks)
    lefts = [
        [round(look.plate.xyxy[0]) for look in event.vehicle_pass.observations] for event in events
    ]
    assert {(left[0], left[-1]) for left in lefts} == {(150, 550), (550, 150)}


def test_directions_and_lines_and_zones_are_told() -> None:
    camera = replace(
        CAMERA,
        lines=(Line("stop line", ((0.0, 0.5), (1.0, 0.5))),),
        zones=(
            Zone("far", ((0, 0), (1, 0), (1, 0.5), (0, 0.5))),
            Zone("near", ((0, 0.5), (1, 0.5), (1, 1), (0, 1))),
        ),
    )
    looks = [(i / 2, [plate((500, 80 + 60 * i), score=0.95, width=60 + 10 * i)]) for i in range(7)]
    events = follow(new_tracker(camera), looks)
    assert [event.kind for event in events] == ["agreed", "updated", "closed"]
    vehicle_pass = events[-1].vehicle_pass
    assert vehicle_pass.direction == "towards"
    assert vehicle_pass.crossings == (LineCrossing("stop line", "right", 1.5),)
    assert vehicle_pass.zones == ("far", "near")
    assert events[0].vehicle_pass.zones == ("far",)


def test_a_vehicle_that_came_and_then_waits_keeps_its_direction() -> None:
    zone = Zone("entry", ((0, 0.8), (1, 0.8), (1, 1), (0, 1)))
    coming = [(i / 2, [plate((500, 80 + 40 * i), width=60 + 10 * i)]) for i in range(7)]
    waiting = [(3.5 + i / 2, [plate((500, 320), width=120)]) for i in range(80)]
    entering = [(43.5 + i / 2, [plate((500, 340 + 20 * i), width=120)]) for i in range(5)]
    events = follow(new_tracker(replace(CAMERA, zones=(zone,))), [*coming, *waiting, *entering])
    directions = [(event.vehicle_pass.zones, event.vehicle_pass.direction) for event in events]
    assert directions[-2:] == [(("entry",), "towards"), (("entry",), "towards")]
