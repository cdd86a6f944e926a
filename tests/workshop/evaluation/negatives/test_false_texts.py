"""False alarms: what counts as one, its cause, and how many are shown."""

import numpy as np
import pytest

from orchestrator.plates import Plate, Plates
from workshop.evaluation.negatives.false_texts import (
    PHOTO,
    SURROUNDINGS,
    SearchedPicture,
    collect_alarms,
)
from workshop.rendering.plateless.plateless_pictures import PlacedThing

GREY = np.full((90, 160, 3), 90, np.uint8)
BOX = (20.0, 20.0, 60.0, 30.0)


def plate(*candidates: tuple[str, float], xyxy: tuple[float, ...] = BOX) -> Plate:
    score = candidates[0][1] if candidates else 0.7
    return Plate(xyxy=xyxy, text_score=score, candidates=candidates)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plates", "count"),
    [
        pytest.param((), 1, id="no label"),
        pytest.param((BOX,), 0, id="its label"),
        pytest.param(((20.0, 20.0, 32.4, 30.0),), 0, id="IoU 0.31"),
        pytest.param(((20.0, 20.0, 31.6, 30.0),), 1, id="IoU 0.29"),
        pytest.param(((90.0, 20.0, 99.0, 30.0), BOX), 0, id="the second label"),
    ],
)
def test_a_box_on_no_plate_is_a_false_alarm(plates, count: int) -> None:
    alarms = collect_alarms(
        [(SearchedPicture("a", GREY, plates), Plates((plate(("A123BC77", 0.9)),)))], 0.5
    )
    assert len(alarms.alarms) == count


@pytest.mark.parametrize(
    ("things", "cause"),
    [
        pytest.param(None, PHOTO, id="not known"),
        pytest.param((), SURROUNDINGS, id="nothing there"),
        pytest.param((PlacedThing("grille", (50, 0, 99, 99)),), SURROUNDINGS, id="a quarter in it"),
        pytest.param((PlacedThing("grille", (40, 0, 99, 99)),), "grille", id="half in it"),
        pytest.param(
            (PlacedThing("grille", (40, 0, 99, 99)), PlacedThing("advert", (0, 0, 99, 99))),
            "advert",
            id="in two",
        ),
    ],
)
def test_the_cause_is_the_thing_that_most_of_the_box_lies_in(things, cause: str) -> None:
    alarms = collect_alarms([(SearchedPicture("a", GREY, things=things), Plates((plate(),)))], 0.5)
    assert [alarm.cause for alarm in alarms.alarms] == [cause]


def test_texts_are_shown_from_the_threshold_on_surest_first() -> None:
    first = Plates((plate(("A123BC77", 0.5)), plate(("B123BC77", 0.8)), plate()))
    alarms = collect_alarms(
        [(SearchedPicture("a", GREY), first), (SearchedPicture("b", GREY), Plates())], 0.6
    )
    assert [alarm.text for alarm in alarms.list_shown(0.5)] == ["B123BC77", "A123BC77"]
    assert [alarm.text for alarm in alarms.list_shown(0.51)] == ["B123BC77"]
    assert (alarms.pictures, alarms.count_pictures(0.5)) == (2, 1)
    assert [alarm.tile is not None for alarm in alarms.alarms] == [False, True, False]


def test_things_are_counted_by_their_kinds() -> None:
    things = (PlacedThing("grille", BOX), PlacedThing("grille", BOX), PlacedThing("advert", BOX))
    alarms = collect_alarms([(SearchedPicture("a", GREY, things=things), Plates())], 0.5)
    assert alarms.thing_counts == {"grille": 2, "advert": 1}
