"""Costs of matches, worked out by hand.

A plate is 100 of the frame's 1000 pixels wide: size 0.1.
"""

from dataclasses import replace
from math import exp, log

import pytest

from orchestrator.plates import Plate
from plate_cameras.tracking.fusion import FusedText
from plate_cameras.tracking.looks import Look
from plate_cameras.tracking.matching import MOTION_S, NEW_PASS, compare_texts, cost_of, is_expected
from plate_cameras.tracking.open_pass import OpenPass
from tests.plate_cameras.passing import CAMERA, look, plate

TEXT = "A123BC77"
NOW = log(0.0128)
"""Cost of a plate at the place of a moment before: the area of two place noises of 0.08."""
SECOND = log(2 * 0.08**2 + 7**2 + 3**2 / 4)
"""The cost after a second, with a speed of up to 7 and an acceleration of up to 3."""


def see_once(plate_: Plate | None = None, text: str = "", score: float = 1.0) -> OpenPass:
    """Return a pass that was seen at 0 s, with a text that is as sure as a test wants."""
    open_pass = OpenPass.start("1", look(0, plate_ or plate((300, 200), "")), CAMERA)
    open_pass.fusion = FusedText(((text, score),), (1.0,)) if text else FusedText()
    return open_pass


def see_standing(text: str = "", score: float = 1.0) -> OpenPass:
    """Return a pass whose vehicle has stood from 0 s to 1 s."""
    open_pass = see_once()
    for time_s in (0.5, 1.0):
        open_pass.add(look(time_s, plate((300, 200), "")), CAMERA, MOTION_S)
    open_pass.fusion = FusedText(((text, score),), (1.0,)) if text else FusedText()
    return open_pass


def cost(open_pass: OpenPass, look_: Look) -> float:
    prediction = open_pass.motion.predict(look_.observation.time_s, MOTION_S)
    return cost_of(open_pass, prediction, look_, MOTION_S)


@pytest.mark.parametrize(
    ("look_", "expected"),
    [
        pytest.param(look(0, plate((300, 200), "")), NOW, id="at once"),
        pytest.param(look(1, plate((300, 200), "")), SECOND, id="after a second"),
        pytest.param(
            look(0, plate((316, 192), "")), NOW + 0.5 * (4 + 1) / 2, id="two and one noises away"
        ),
        pytest.param(look(1.6, plate((300, 200), "")), NEW_PASS, id="too late for a prediction"),
    ],
)
def test_the_cost_of_a_moving_plate_is_that_of_its_prediction(look_: Look, expected: float) -> None:
    assert cost(see_once(), look_) == pytest.approx(expected)


@pytest.mark.parametrize(("missed_frames", "more"), [(1, 1), (2, 2), (4, 4), (9, 4)])
def test_each_frame_that_did_not_show_the_plate_costs(missed_frames: int, more: float) -> None:
    open_pass = see_once()
    for _ in range(missed_frames):
        open_pass.miss(0.1)
    assert cost(open_pass, look(1, plate((300, 200), ""))) == pytest.approx(SECOND + more)


def stretch(plate_: Plate, factor: float) -> Plate:
    """Return a plate of another height."""
    x0, y0, x1, y1 = plate_.xyxy
    return replace(plate_, xyxy=(x0, y0, x1, y0 + (y1 - y0) * factor))


@pytest.mark.parametrize(
    ("plate_", "is_possible"),
    [
        pytest.param(plate((300, 200), TEXT, width=390), True, id="3.9 times as large"),
        pytest.param(plate((300, 200), TEXT, width=410), False, id="4.1 times as large"),
        pytest.param(plate((300, 200), TEXT, width=25.7), True, id="3.9 times as small"),
        pytest.param(plate((300, 200), TEXT, width=24.3), False, id="4.1 times as small"),
        pytest.param(stretch(plate((300, 200), TEXT), exp(0.69)), True, id="twice as high"),
        pytest.param(stretch(plate((300, 200), TEXT), exp(0.71)), False, id="a headlamp"),
        pytest.param(stretch(plate((300, 200), TEXT), exp(-0.71)), False, id="half as high"),
    ],
)
def test_a_plate_keeps_its_size_and_shape_by_and_large(plate_: Plate, is_possible: bool) -> None:
    assert (cost(see_once(text=TEXT), look(1, plate_)) < NEW_PASS) == is_possible


CUT = stretch(plate((35, 200), "", width=70), 3.0)
"""A plate that the frame's left edge may cut."""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(plate((60, 200), ""), CUT, id="it leaves"),
        pytest.param(CUT, plate((60, 200), ""), id="it comes"),
    ],
)
def test_the_shape_of_a_plate_that_the_edge_cuts_says_nothing(first: Plate, second: Plate) -> None:
    assert cost(see_once(first), look(0.5, second)) < NEW_PASS


@pytest.mark.parametrize(
    ("place", "width", "expected"),
    [
        pytest.param((300, 200), 100, 0, id="where it stood"),
        pytest.param((360, 200), 100, 1.2, id="0.6 plate widths aside"),
        pytest.param((300, 260), 100, 1.2, id="0.6 plate widths below"),
        pytest.param((330, 240), 100, 1.0, id="both"),
        pytest.param((360, 200), 120, 1.0, id="half the width of the larger plate"),
        pytest.param((360, 200), 80, 1.2, id="0.6 widths of the larger plate"),
        pytest.param((402, 200), 100, NEW_PASS, id="more than a plate width"),
    ],
)
def test_a_vehicle_that_stood_is_looked_for_at_its_place(
    place: tuple[float, float], width: float, expected: float
) -> None:
    look_ = look(9, plate(place, "", width=width))
    assert cost(see_standing(), look_) == pytest.approx(expected, abs=1e-6)


def test_a_standing_vehicle_costs_no_more_than_its_prediction() -> None:
    open_pass = see_standing()
    prediction = open_pass.motion.predict(1.25, MOTION_S)
    look_ = look(1.25, plate((390, 200), ""))
    squared_distance, vagueness = prediction.misfit(look_)
    assert 0.5 * squared_distance + vagueness > 1.8
    assert cost(open_pass, look_) == pytest.approx(1.8, abs=1e-6)
    look_here = look(1.25, plate((300, 200), ""))
    squared_distance, vagueness = prediction.misfit(look_here)
    assert cost(open_pass, look_here) == pytest.approx(0.5 * squared_distance + vagueness)
    assert cost(open_pass, look_here) < 0


@pytest.mark.parametrize(
    ("text", "expected"), [(TEXT, -8), ("A123BC78", 13), ("A123BC99", 16), ("A999BC99", 20)]
)
def test_after_a_standing_vehicle_was_hidden_a_text_must_be_the_same(
    text: str, expected: float
) -> None:
    open_pass = see_standing(TEXT)
    open_pass.miss(1)
    open_pass.miss(1)
    look_ = look(2.75, plate((300, 200), text, 1.0))
    assert cost(open_pass, look_) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "time_s", "expected"),
    [
        pytest.param(695, 0.0, 6 - 8, id="less than four plate widths in no time"),
        pytest.param(705, 0.0, None, id="more than four"),
        pytest.param(890, 0.05, 6 - 8, id="less than six in a twentieth of a second"),
        pytest.param(910, 0.05, None, id="more than six"),
        pytest.param(900, 9.0, 6 - 8, id="anywhere later"),
    ],
)
def test_the_same_text_is_the_same_vehicle_as_far_as_it_can_have_come(
    x: float, time_s: float, expected: float | None
) -> None:
    cost_ = cost(see_once(text=TEXT), look(time_s, plate((x, 200), TEXT, 1.0)))
    assert cost_ == pytest.approx(expected) if expected else cost_ >= NEW_PASS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(TEXT, (-8, True), id="the same"),
        pytest.param("A128BC77", (-4, True), id="one character"),
        pytest.param("A188BC77", (0, False), id="two characters"),
        pytest.param("A888BC77", (20, False), id="three characters"),
        pytest.param("M456OP199", (20, False), id="another text"),
        pytest.param("", (0, False), id="no text"),
    ],
)
def test_texts_that_are_certain_cost_by_their_different_characters(
    text: str, expected: tuple[float, bool]
) -> None:
    comparison = compare_texts(see_once(text=TEXT), look(0, plate((300, 200), text, 1.0)))
    assert comparison == expected


def test_a_plate_without_a_text_is_like_any_text_whatever_its_score_is() -> None:
    unread = replace(plate((300, 200), ""), text_score=0.9)
    assert compare_texts(see_once(text=TEXT), look(0, unread)) == (0, False)


@pytest.mark.parametrize(
    ("text", "score", "expected"),
    [
        pytest.param(TEXT, 0.65, (-8 * (0.65 * 0.65) ** 0.7, True), id="0.55 sure"),
        pytest.param(TEXT, 0.6, (-8 * (0.6 * 0.6) ** 0.7, False), id="0.49 sure"),
        pytest.param("A128BC77", 0.6, (-4 * (0.6 * 0.6) ** 0.7, False), id="one character"),
        pytest.param("M45BC77", 0.1, (20 * 0.01**0.7, False), id="few characters"),
        pytest.param("M45677", 0.1, (20 * 0.35, False), id="six characters"),
        pytest.param("M45677", 0.05, (20 * 0.35, False), id="six characters, hardly read"),
        pytest.param("M45677", 0.04, (20 * 0.0016**0.7, False), id="six characters by chance"),
        pytest.param("M45677", 0.9, (20 * 0.81**0.7, False), id="six characters, sure"),
    ],
)
def test_texts_weigh_as_much_as_they_are_sure(
    text: str, score: float, expected: tuple[float, bool]
) -> None:
    comparison = compare_texts(
        see_once(text=TEXT, score=score), look(0, plate((300, 200), text, score))
    )
    assert comparison == (pytest.approx(expected[0]), expected[1])


@pytest.mark.parametrize(
    ("middle", "width", "is_there"),
    [
        pytest.param((395, 200), 100, True, id="less than a plate width aside"),
        pytest.param((300, 295), 100, True, id="less than a plate width below"),
        pytest.param((370, 270), 100, True, id="both"),
        pytest.param((375, 275), 100, False, id="both, more than a plate width"),
        pytest.param((405, 200), 100, False, id="more than a plate width"),
        pytest.param((405, 200), 120, True, id="less than the width of a larger plate"),
        pytest.param((395, 200), 50, True, id="less than the expected width"),
    ],
)
def test_a_pass_is_expected_within_a_plate_width(
    middle: tuple[float, float], width: float, is_there: bool
) -> None:
    assert is_expected(see_once(), look(0.25, plate(middle, "", width=width))) == is_there


@pytest.mark.parametrize(("missed_frames", "moves", "stands"), [(1, True, True), (2, False, True)])
def test_only_a_standing_vehicle_is_expected_after_two_frames_without_it(
    missed_frames: int, moves: bool, stands: bool
) -> None:
    look_ = look(1.5, plate((300, 200), ""))
    passes = see_once(), see_standing()
    for open_pass in passes:
        for _ in range(missed_frames):
            open_pass.miss(0.25)
    assert [is_expected(open_pass, look_) for open_pass in passes] == [moves, stands]
