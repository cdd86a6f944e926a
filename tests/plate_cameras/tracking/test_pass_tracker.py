from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Zone
from plate_cameras.passes import PassEvent
from plate_cameras.tracking.retention import MAX_OBSERVATIONS
from tests.plate_cameras.passing import CAMERA, follow, frame, kinds, new_tracker, plate

Looks = list[tuple[float, Sequence[Plate]]]
FIRST, SECOND = "A123BC77", "M456OP199"


def crossing(
    times_s: Sequence[float], text: str = FIRST, *, speed: float = 300, y: float = 100
) -> list[tuple[float, Plate]]:
    """Return the plate of a vehicle that drives to the right, 300 pixels a second."""
    return [(time_s, plate((100 + speed * time_s, y), text)) for time_s in times_s]


def alone(looks: Sequence[tuple[float, Plate]]) -> Looks:
    return [(time_s, [plate_]) for time_s, plate_ in looks]


def find_closed_texts(events: Sequence[PassEvent]) -> list[str]:
    return [event.vehicle_pass.text for event in events if event.kind == "closed"]


PARKED = plate((300, 100), FIRST, 0.99, width=70)
ROW = [(i / 4, [PARKED]) for i in range(12)]
HIDDEN = [*ROW[:8], *((2 + i / 4, []) for i in range(20))]
"""A car that stands for two seconds, and is then hidden for five."""


def again(from_s: float, plate_: Plate = PARKED) -> Looks:
    return [(from_s + i / 4, [plate_]) for i in range(8)]


@pytest.mark.parametrize(
    ("looks", "texts"),
    [
        *(
            pytest.param(
                [*HIDDEN, *again(7, plate((330, 101), text, 0.99, width=70))],
                [FIRST, text],
                id=f"{text} stops there, a car of the same series",
            )
            for text in ("A124BC77", "A145BC77")
        ),
        pytest.param(
            [*HIDDEN, (7, [plate((300, 100), "A124BC77", 0.99, width=70)]), *again(7.25)],
            [FIRST],
            id="it is misread once afterwards",
        ),
        pytest.param(  # the nearer car is 90 pixels lower, so not in its place
            [
                *ROW,
                (3, [plate((310, 190), SECOND, 0.98, width=120)]),
                (3.25, [plate((470, 160), SECOND, 0.98, width=110)]),
                *again(3.5),
            ],
            [FIRST, SECOND],
            id="a nearer car hides it for a moment",
        ),
    ],
)
def test_a_standing_car_that_was_hidden_is_one_pass_and_another_car_is_another(
    looks: Looks, texts: list[str]
) -> None:
    assert sorted(find_closed_texts(follow(new_tracker(), looks))) == sorted(texts)


def test_a_standing_car_whose_place_another_has_taken_is_closed() -> None:
    tracker = new_tracker()
    for i in range(8):
        tracker.update(frame(i / 4), Plates((plate((300, 100), FIRST, 0.95),)))
    assert kinds(tracker.update(frame(900), Plates((plate((302, 100), SECOND, 0.95),)))) == [
        ("closed", FIRST)
    ]


def test_a_parked_row_gives_each_car_once_and_stays_small() -> None:
    row = [plate((150 + 200 * i, 100), f"A{i}23BC77") for i in range(4)]
    tracker = new_tracker()
    events = [event for i in range(150) for event in tracker.update(frame(i / 2), Plates((*row,)))]
    assert [event.kind for event in events] == ["agreed"] * 4
    passes = [event.vehicle_pass for event in tracker.close()]
    assert [len(vehicle_pass.observations) for vehicle_pass in passes] == [MAX_OBSERVATIONS] * 4
    assert {vehicle_pass.first_seen_s for vehicle_pass in passes} == {0}
    assert {vehicle_pass.last_seen_s for vehicle_pass in passes} == {74.5}


@pytest.mark.parametrize(
    "middle",
    [
        pytest.param((48.0, 200.0), id="left"),
        pytest.param((952.0, 200.0), id="right"),
        pytest.param((500.0, 9.0), id="top"),
        pytest.param((500.0, 491.0), id="bottom"),
    ],
)
def test_a_car_whose_plate_the_frames_edge_cuts_is_never_told_by_its_text(middle) -> None:
    looks = [(at / 4, [plate(middle, "A123BC77", 0.99)]) for at in range(40)]
    (event,) = follow(new_tracker(), looks)
    assert (event.kind, event.vehicle_pass.text, event.vehicle_pass.candidates) == (
        "closed",
        "",
        (),
    )


@pytest.mark.parametrize("order", [1, -1], ids=["leaves", "arrives"])
def test_a_car_that_the_frames_edge_cuts_keeps_the_text_of_its_whole_looks(order: int) -> None:
    whole_plates = [plate((760.0 + 40 * at, 200.0), "A123BC777", 0.9) for at in range(4)]
    cut_plates = [plate((950.0 + 6 * at, 200.0), "A123BC77", 0.99, width=90.0) for at in range(6)]
    looks = [(at / 4, [plate_]) for at, plate_ in enumerate([*whole_plates, *cut_plates][::order])]
    events = follow(new_tracker(), looks)
    assert {event.vehicle_pass.text for event in events} == {"A123BC777"}
    assert len({event.vehicle_pass.id for event in events}) == 1


def test_other_settings_hold_from_the_next_frame_on() -> None:
    tracker = new_tracker()
    tracker.update(frame(0), Plates((plate((200, 100)),)))
    everything = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    tracker.configure(replace(CAMERA, zones=(Zone("new", everything),)))
    tracker.update(frame(0.5), Plates((plate((300, 100)),)))
    (event,) = tracker.close()
    assert (event.vehicle_pass.zones, event.vehicle_pass.first_seen_s) == (("new",), 0)


def test_a_stream_that_changes_its_size_keeps_its_passes() -> None:
    tracker = new_tracker()
    for time_s, plate_ in crossing((0, 0.5, 1)):
        tracker.update(frame(time_s), Plates((plate_,)))
    half = plate((200 + 75 * 1.5 - 75, 50), width=50)
    tracker.update(frame(1.5, (500, 250)), Plates((half,)))
    (event,) = tracker.close()
    assert len(event.vehicle_pass.observations) == 4


@pytest.mark.parametrize(
    ("back_s", "ends"), [pytest.param(5.0, [], id="jitter"), pytest.param(5.25, [FIRST], id="jump")]
)
def test_time_stamps_that_go_back_by_five_seconds_are_of_the_same_stream(
    back_s: float, ends: list[str]
) -> None:
    tracker = new_tracker()
    for time_s, plate_ in crossing((100, 100.5), speed=3):
        tracker.update(frame(time_s), Plates((plate_,)))
    assert find_closed_texts(tracker.update(frame(100.5 - back_s), Plates(()))) == ends


@pytest.mark.parametrize(
    ("looks_per_s", "times_s", "gone_s"),
    [
        pytest.param(4.0, [0], 3.0, id="one frame"),
        pytest.param(4.0, [0, 0.5], 3.0, id="many frames"),
        pytest.param(0.125, [0], 20.0, id="few frames are configured"),
        pytest.param(4.0, [0, 4], 10.0, id="few frames come"),
        pytest.param(4.0, [0, 4, 4], 10.0, id="two frames of the same time"),
        pytest.param(4.0, [0, 4, 1, 4], 10.0, id="a frame from before"),
        pytest.param(4.0, [0, 4, 6], 9.0, id="more frames than before"),
        pytest.param(4.0, [0, 4, 4.5], 8.25, id="many more"),
        pytest.param(4.0, [0, 4, 16], 10.0, id="the camera has rested"),
    ],
)
def test_a_vehicle_is_gone_after_three_seconds_or_longer_if_frames_are_rare(
    looks_per_s: float, times_s: list[float], gone_s: float
) -> None:
    tracker = new_tracker(replace(CAMERA, looks_per_s=looks_per_s))
    *before, last = times_s
    for time_s in before:
        tracker.update(frame(time_s), Plates(()))
    tracker.update(frame(last), Plates((plate((300, 100)),)))
    assert tracker.advance(last + gone_s - 0.001) == []
    assert find_closed_texts(tracker.advance(last + gone_s + 0.001)) == [FIRST]


@pytest.mark.parametrize(
    ("from_s", "step_s", "frames"),
    [
        pytest.param(1.75, 0.5, 40, id="without a rest"),
        pytest.param(0.0, 3600.0, 10, id="after a rest of the camera, which counts two seconds"),
    ],
)
def test_a_standing_vehicle_is_gone_after_twenty_seconds_of_frames_without_it(
    from_s: float, step_s: float, frames: int
) -> None:
    tracker = new_tracker()
    for i in range(8):
        tracker.update(frame(i / 4), Plates((plate((300, 100)),)))
    times_s = [from_s + i * step_s for i in range(1, frames + 2)]
    hidden = [kinds(tracker.update(frame(time_s), Plates(()))) for time_s in times_s]
    assert hidden == [[]] * frames + [[("closed", FIRST)]]


@pytest.mark.parametrize(
    ("looks", "step_s", "score", "passes"),
    [
        pytest.param(5, 0.25, 0.65, [""], id="just enough"),
        pytest.param(4, 0.5, 0.9, [], id="too few looks"),
        pytest.param(9, 0.11, 0.9, [], id="too short"),
        pytest.param(5, 0.25, 0.64, [], id="too unsure"),
    ],
)
def test_an_unreadable_plate_is_a_pass_after_five_sure_looks_in_a_second(
    looks: int, step_s: float, score: float, passes: list[str]
) -> None:
    plates: Looks = [
        (30 + i * step_s, [replace(plate((300, 100), ""), detection_score=score)])
        for i in range(looks)
    ]
    assert find_closed_texts(follow(new_tracker(), plates)) == passes


@pytest.mark.parametrize("of", ["agreement_threshold", "text_threshold"])
@pytest.mark.parametrize(("above", "kinds_before_the_end"), [(0.0, ["agreed"]), (1e-9, [])])
def test_a_text_agrees_when_its_score_reaches_both_thresholds(
    of: str, above: float, kinds_before_the_end: list[str]
) -> None:
    looks = alone(crossing((0, 0.5)))
    score = follow(new_tracker(), looks)[0].vehicle_pass.text_score
    thresholds = {"agreement_threshold": 0.0, "text_threshold": 0.0, of: score + above}
    events = follow(new_tracker(replace(CAMERA, **thresholds)), looks)
    assert [event.kind for event in events[:-1]] == kinds_before_the_end


def test_a_text_that_comes_back_after_another_agrees_anew() -> None:
    other, unsure = "A128BC77", 0.35
    readings = [(FIRST, 0.97)] * 2 + [(other, 0.97)] * 2 + [(FIRST, unsure)] + [(FIRST, 0.97)] * 3
    looks = [(n / 2, plate((100 + 90 * n, 100), *reading)) for n, reading in enumerate(readings)]
    events = follow(new_tracker(), alone(looks))
    passes = [event.vehicle_pass for event in events if event.kind != "closed"]
    assert [vehicle_pass.text for vehicle_pass in passes] == [FIRST, "", FIRST, FIRST]
    are_sure = [vehicle_pass.text_score >= CAMERA.agreement_threshold for vehicle_pass in passes]
    assert are_sure == [True, False, False, True]


def test_a_pass_that_was_told_goes_on_when_an_earlier_track_proves_to_be_its_own() -> None:
    unread, other = plate((100, 400), ""), plate((500, 250), SECOND)
    looks: Looks = [(i / 10, [unread]) for i in range(4)]
    looks += [(0.5 + i / 10, [plate((800, 100), FIRST, 0.95), other]) for i in range(2)]
    looks += [(0.7, [unread, other]), (0.8, [plate((100, 400), FIRST, 0.95), other])]
    tracker, visible_ids = new_tracker(), list[tuple[str, ...]]()
    events: list[PassEvent] = []
    for at, plates in looks:
        events += tracker.update(frame(at), Plates((*plates,)))
        visible_ids.append(tracker.visible_ids)
    events += tracker.close()
    assert visible_ids[-3:] == [("2", "3"), ("1", "3"), ("2", "3")]
    assert sorted(find_closed_texts(events)) == [FIRST, SECOND]
    (first,) = [event.vehicle_pass for event in events if kinds([event]) == [("closed", FIRST)]]
    assert first.observations[0].time_s == 0
    starts = {
        event.vehicle_pass.first_seen_s for event in events if event.vehicle_pass.text == FIRST
    }
    assert starts == {0.5}


def test_the_tracker_names_the_passes_that_the_last_frame_has_shown() -> None:
    tracker = new_tracker()
    assert tracker.visible_ids == ()
    tracker.update(frame(0), Plates((plate((300, 100)), plate((800, 400), SECOND))))
    assert tracker.visible_ids == ("1", "2")
    tracker.update(frame(0.5), Plates((plate((301, 100)),)))
    assert tracker.visible_ids == ("1",)
    tracker.update(frame(1), Plates(()))
    assert tracker.visible_ids == ()
    tracker.update(frame(1.5), Plates((plate((302, 100)),)))
    tracker.close()
    assert tracker.visible_ids == ()
