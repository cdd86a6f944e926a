"""A pass, built from its looks. Frames are 1000 by 500 pixels, plates 100 wide."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.formats.plate_formats import russian
from orchestrator.plates import Plate
from plate_cameras.configuration import Camera, Line, Zone
from plate_cameras.passes import Pass
from plate_cameras.tracking.open_pass import OpenPass
from plate_cameras.tracking.retention import MAX_FRAMES, BestFrames
from tests.plate_cameras.passing import CAMERA, KnownSharpness, live_frame, look, look_at, plate

TEXT, OTHER = "A123BC77", "M456OP199"
MAX_STEP_S = 1.5
LEFT = Zone("left", ((0, 0), (0.5, 0), (0.5, 1), (0, 1)))
RIGHT = Zone("right", ((0.5, 0), (1, 0), (1, 1), (0.5, 1)))
MIDDLE = Line("middle", ((0.5, 0.0), (0.5, 1.0)))


def drive(
    looks: Sequence[tuple[float, Plate]], camera: Camera = CAMERA, pass_id: str = "1"
) -> OpenPass:
    """Return the pass of a vehicle whose plate was seen at these times."""
    (first_s, first), *others = looks
    open_pass = OpenPass.start(pass_id, look(first_s, first), camera)
    for time_s, plate_ in others:
        open_pass.add(look(time_s, plate_), camera, MAX_STEP_S)
    return open_pass


def to_the_right(*xs: float, text: str = TEXT, from_s: float = 0.0) -> list[tuple[float, Plate]]:
    """Return the looks of a vehicle at these places, two in a second."""
    return [(from_s + i / 2, plate((x, 200), text)) for i, x in enumerate(xs)]


def describe(open_pass: OpenPass, camera: Camera = CAMERA) -> Pass:
    return open_pass.describe(camera, russian(), KnownSharpness(), "agreed")


def crossings(xs: Sequence[float], line: Line = MIDDLE) -> list[tuple[str, float]]:
    camera = replace(CAMERA, lines=(line,))
    return [
        (crossing.side, crossing.time_s) for crossing in drive(to_the_right(*xs), camera).crossings
    ]


@pytest.mark.parametrize(
    ("xs", "expected"),
    [
        pytest.param((200, 400), [], id="before the line"),
        pytest.param((400, 600), [("left", 0.5)], id="across"),
        pytest.param((600, 400), [("right", 0.5)], id="back"),
        pytest.param((400, 600, 400), [("left", 0.5), ("right", 1)], id="to and fro"),
        pytest.param((400, 519, 481, 600), [("left", 1.5)], id="near the line"),
        pytest.param((400, 521), [("left", 0.5)], id="a fifth of its width behind the line"),
        pytest.param((519,), [], id="it begins on the line"),
    ],
)
def test_a_line_is_crossed_by_plates_that_are_surely_on_its_other_side(
    xs: tuple[float, ...], expected: list[tuple[str, float]]
) -> None:
    assert crossings(xs) == expected


def test_the_way_round_the_end_of_a_line_crosses_nothing() -> None:
    assert crossings((400, 600), Line("short", ((0.5, 0.6), (0.5, 1.0)))) == []


@pytest.mark.parametrize(
    ("service_format", "text", "expected_format"),
    [
        pytest.param("of_the_service", TEXT, "of_the_service", id="as the service named it"),
        pytest.param("", TEXT, "ru_car", id="first that fits"),
        pytest.param("", "1234AB77", "ru_military", id="in one line before two"),
        pytest.param("", "1234A77", "ru_police_motorcycle", id="in two lines alone"),
        pytest.param("", "X", "", id="no format"),
    ],
)
def test_the_format_is_that_of_the_text(
    service_format: str, text: str, expected_format: str
) -> None:
    looks = [(0.0, replace(plate((200, 200), OTHER, 0.3), format="of_another"))]
    looks += [
        (time_s, replace(plate_, format=service_format))
        for time_s, plate_ in to_the_right(300, 400, 500, text=text, from_s=0.5)
    ]
    vehicle_pass = describe(drive(looks))
    assert (vehicle_pass.text, vehicle_pass.format) == (text, expected_format)


def test_all_times_of_a_pass_follow_from_the_clock_of_its_first_frame() -> None:
    camera = replace(CAMERA, lines=(MIDDLE,))
    shots = live_frame(70, 1000), live_frame(70.5, 9), live_frame(71, 5000)
    open_pass = OpenPass.start("1", look_at(shots[0], plate((300, 200), score=0.7)), camera)
    for shot, x in zip(shots[1:], (600, 900), strict=True):
        open_pass.add(look_at(shot, plate((x, 200), score=0.95)), camera, MAX_STEP_S)
    vehicle_pass = describe(open_pass, camera)
    assert (vehicle_pass.id, vehicle_pass.camera) == ("1", "gate")
    assert (vehicle_pass.progress, vehicle_pass.clock) == ("agreed", "wall")
    assert (vehicle_pass.first_seen_s, vehicle_pass.last_seen_s) == (1000, 1001)
    assert vehicle_pass.last_moment_s == 71
    assert [item.time_s for item in vehicle_pass.observations] == [1000, 1000.5, 1001]
    assert [item.time_s for item in vehicle_pass.crossings] == [1000.5]
    assert vehicle_pass.best.observation.time_s == 1000.5
    assert vehicle_pass.best.observation == vehicle_pass.observations[1]
    assert vehicle_pass.speed_widths_s == pytest.approx(6)
    assert sum(item.weight for item in vehicle_pass.observations) == pytest.approx(1)
    assert vehicle_pass.observations[0].weight < vehicle_pass.observations[1].weight


CAMERA_WITH_ALL = replace(CAMERA, zones=(LEFT, RIGHT), lines=(MIDDLE,))


def two_tracks() -> tuple[OpenPass, OpenPass]:
    """Return two tracks of a vehicle: one from 0 to 1 s, and one from 2 to 3 s."""
    earlier = drive(to_the_right(300, 400, 600), CAMERA_WITH_ALL, "earlier")
    later = drive(to_the_right(700, 400, 300, from_s=2), CAMERA_WITH_ALL, "later")
    return earlier, later


@pytest.mark.parametrize("order", [1, -1], ids=["the earlier", "the later"])
def test_either_track_absorbs_the_other(order: int) -> None:
    survivor, other = two_tracks()[::order]
    other.miss(0.5)
    last = max(survivor, other, key=lambda open_pass: open_pass.last_seen_s)
    missed_before = last.missed_s, last.missed_frames
    motion, shape = last.motion, last.last_look
    survivor.absorb(other)
    assert (survivor.agreements, len(survivor.fusion.weights)) == (6, 6)
    assert (survivor.looks, survivor.first_seen_s, survivor.last_seen_s) == (6, 0, 3)
    assert [observation.time_s for observation in survivor.observations] == [0, 0.5, 1, 2, 2.5, 3]
    assert (survivor.motion, survivor.last_look) == (motion, shape)
    assert (survivor.missed_s, survivor.missed_frames) == missed_before
    assert survivor.zones == (("left", "right"), ("right", "left"))[order < 0]
    assert [(crossing.side, crossing.time_s) for crossing in survivor.crossings] == [
        ("left", 1),
        ("right", 2.5),
    ]
    survivor.add(
        look(3.5, plate((600, 200))), CAMERA_WITH_ALL, MAX_STEP_S
    )  # from where it was last
    assert [crossing.time_s for crossing in survivor.crossings] == [1, 2.5, 3.5]


def test_a_start_comes_with_its_clock() -> None:
    first = OpenPass.start("1", look_at(live_frame(70, 1000), plate((200, 200))), CAMERA)
    second = OpenPass.start("2", look_at(live_frame(71, 5000), plate((300, 200))), CAMERA)
    assert first.offset_s == 930
    second.absorb(first)
    assert (second.first_seen_s, second.offset_s) == (70, 930)
    assert describe(second).last_seen_s == 1001


def test_a_pass_tells_its_speed_on_the_road_only_with_the_angle_of_view() -> None:
    widths = [1000 / ahead_m for ahead_m in range(20, 12, -1)]  # two metres in a second
    looks = [(i / 2, plate((500, 250), TEXT, width=width)) for i, width in enumerate(widths)]
    vehicle_pass = describe(drive(looks), replace(CAMERA, view_angle_deg=30.0))
    assert vehicle_pass.speed_kmh == pytest.approx(7.2, rel=0.01)
    assert describe(drive(looks)).speed_kmh is None


LIKELY = ("A111AA77", "A222AA77", "A333AA77", "A444AA77")


@pytest.mark.parametrize(
    ("likely_texts", "times_s"),
    [
        pytest.param(LIKELY, [0, 1, 2, 0], id="the least likely"),
        pytest.param(LIKELY[1:], [1, 1, 2, 3], id="not likely any more"),
    ],
)
def test_of_too_many_texts_one_has_no_frame_of_its_own(
    likely_texts: tuple[str, ...], times_s: list[float]
) -> None:
    """For that text, the best frame of all is shown."""
    frames = BestFrames()
    for number, text in enumerate(LIKELY):
        frames.add(look(number, plate((300, 200), text, 0.9 - number / 10)), likely_texts)
    assert len({*times_s}) == MAX_FRAMES
    assert [frames.observation(text).time_s for text in LIKELY] == times_s
