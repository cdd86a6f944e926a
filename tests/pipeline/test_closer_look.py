"""Unsure plates: found again from nearby, and read in the second box, too."""

import numpy as np
import pytest

from orchestrator.detection.nearby import MAX_NEARBY
from orchestrator.formats.plate_formats import Formats, PlateFormat
from orchestrator.pipeline import recognize
from orchestrator.reading.closer_look import closer_look
from orchestrator.reading.ctc import Reading
from orchestrator.reading.reader import PlateReadings, Reader
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, CloserInfer, ScriptedInfer, picture, rows

LONG, SQUARE = PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))
BOTH, LONG_ONLY = Formats(ALPHABET, (LONG, SQUARE)), Formats(ALPHABET, (LONG,))
SQUARE_BOX, LONG_BOX = (300.0, 100.0, 360.0, 140.0, 0.8), (300.0, 113.0, 360.0, 127.0, 0.8)
NEARBY_BOX, LONG_NEARBY_BOX = (105.6, 121.6, 201.6, 185.6, 0.9), (105.6, 132.8, 201.6, 155.2, 0.9)
"""The same plates 6 px further right, in the net of their surroundings."""
CUTS, SECOND_PASS_CUTS, LONG_CUTS = 4, 6, 3
"""Cuts of a square plate in the first two passes, and in the third; those of a long plate."""
UNSURE_LOGIT, SURE_LOGIT = 6.0, 20.0
"""Logits of texts with scores below and above the limit."""


def look(
    first_text: str, second_text: str, logit: float, *, nearby: tuple[float, ...] = NEARBY_BOX
) -> tuple[CloserInfer, str]:
    """Read a square plate; its first box says one text, and its second box another."""
    infer = CloserInfer(rows(SQUARE_BOX), rows(nearby) if nearby else rows())
    first_texts = [first_text] * (CUTS - 1 + SECOND_PASS_CUTS)
    infer.texts = ["", *first_texts, "", *[second_text] * (CUTS - 1)]
    infer.logits = (20.0, *[UNSURE_LOGIT] * (CUTS - 1 + SECOND_PASS_CUTS), *[logit] * CUTS)
    (plate,) = recognize(picture(), infer, Settings(text_threshold=0.0), formats=BOTH)
    return infer, plate.text


def look_at_long(first_text: str, second_text: str, logit: float) -> tuple[CloserInfer, str, float]:
    """Read a plate of one line in two boxes; returns its text and the text's score, too."""
    infer = CloserInfer(rows(LONG_BOX), rows(LONG_NEARBY_BOX))
    infer.texts = [*[first_text] * LONG_CUTS, *[second_text] * LONG_CUTS]
    infer.logits = (*[UNSURE_LOGIT] * LONG_CUTS, *[logit] * LONG_CUTS)
    (plate,) = recognize(picture(), infer, Settings(text_threshold=0.0), formats=LONG_ONLY)
    return infer, plate.text, plate.text_score


def test_an_unsure_plate_of_two_lines_is_found_again_from_nearby() -> None:
    infer, text = look("123ABC", "456ABC", SURE_LOGIT)
    assert infer.nets == [(480, 640), (288, 288)]
    assert text == "456ABC"


def test_an_unsure_plate_of_one_line_is_found_again_from_nearby() -> None:
    infer, text, score = look_at_long("A123BC", "A123BC", SURE_LOGIT)
    assert infer.nets == [(480, 640), (288, 288)]
    assert text == "A123BC"
    assert score > 0.99


def test_two_texts_of_one_line_make_each_other_less_sure() -> None:
    _, text, score = look_at_long("A123BC", "A124BC", SURE_LOGIT)
    assert text == "A124BC"
    assert 0.45 < score < 0.55


def test_each_unsure_plate_of_a_picture_is_found_again() -> None:
    other_box = (100.0, 313.0, 160.0, 327.0, 0.7)
    infer = CloserInfer(rows(LONG_BOX, other_box), rows(), rows(LONG_NEARBY_BOX))
    infer.texts = ["A123BC", "A124BC"] + ["A123BC"] * 2 + ["A124BC"] * 2 + ["A124BC"] * 3
    infer.logits = (*[UNSURE_LOGIT] * 6, *[SURE_LOGIT] * 3)
    plates = recognize(picture(), infer, formats=LONG_ONLY)
    assert infer.nets == [(480, 640), (288, 288), (288, 288)]
    assert [plate.text for plate in plates] == ["", "A124BC"]


def test_a_picture_gets_no_more_than_so_many_closer_looks() -> None:
    boxes = [(60.0, 40.0 * at, 120.0, 40.0 * at + 14, 0.9 - 0.01 * at) for at in range(11)]
    infer = CloserInfer(rows(*boxes), *[rows()] * MAX_NEARBY)
    infer.texts = ["A123BC"] * (11 * LONG_CUTS)
    infer.logits = (UNSURE_LOGIT,) * (11 * LONG_CUTS)
    recognize(picture(), infer, formats=LONG_ONLY)
    assert infer.nets[1:] == [(288, 288)] * MAX_NEARBY


def test_a_less_sure_reading_of_the_second_box_does_not_count() -> None:
    infer, text = look("123ABC", "456ABC", 5.0)
    assert len(infer.nets) == 2
    assert text == "123ABC"


@pytest.mark.parametrize("nearby", [pytest.param((), id="nothing"), (0.0, 0.0, 30.0, 20.0, 0.9)])
def test_a_plate_that_is_not_found_again_keeps_its_reading(nearby: tuple[float, ...]) -> None:
    infer, text = look("123ABC", "456ABC", SURE_LOGIT, nearby=nearby)
    assert len(infer.nets) == 2
    assert text == "123ABC"
    assert infer.calls[-1] == "yolo"  # nothing more is read


def test_a_sure_plate_is_not_searched_again() -> None:
    infer = CloserInfer(rows(SQUARE_BOX), texts=("", *["123ABC"] * 3))
    recognize(picture(), infer, formats=BOTH)
    assert len(infer.nets) == 1


def test_the_box_stays_the_detector_s_first() -> None:
    infer = CloserInfer(rows(SQUARE_BOX), rows(NEARBY_BOX))
    infer.texts, infer.logits = ["", *["123ABC"] * 9], (20.0, *[UNSURE_LOGIT] * 9)
    (plate,) = recognize(picture(), infer, formats=BOTH)
    assert plate.xyxy == SQUARE_BOX[:4]
    assert plate.detection_score == pytest.approx(SQUARE_BOX[4])


def test_the_surest_of_the_unsure_plates_get_a_closer_look() -> None:
    scores = (0.3, 0.95, 0.0001, 0.5, *[0.4] * (MAX_NEARBY - 2), 0.2)
    readings = tuple(Reading("", (), (("A001AA", score),)) for score in scores)
    choose = closer_look(lambda *_: ([], []), Settings()).choose
    reader = Reader(ScriptedInfer(rows()), LONG_ONLY, reads=True)
    boxes, frames = np.zeros((1, 4), np.float32), np.zeros((1, 2, 3), np.float32)
    lines_by_plate = choose(PlateReadings(boxes, frames, np.empty(0), readings), reader)
    assert [*lines_by_plate] == [3, *range(4, 2 + MAX_NEARBY), 0]
    assert choose(PlateReadings(boxes, frames, np.empty(0)), reader) == {}
