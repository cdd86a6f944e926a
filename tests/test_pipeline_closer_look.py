"""Unsure plates of two lines: found again from nearby, and read in the second box, too."""

import pytest

from orchestrator.formats.plate_formats import Formats, PlateFormat
from orchestrator.pipeline import recognize
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, CloserInfer, picture, rows

LONG, SQUARE = PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))
BOTH, LONG_ONLY = Formats(ALPHABET, (LONG, SQUARE)), Formats(ALPHABET, (LONG,))
SQUARE_BOX = (300.0, 100.0, 360.0, 140.0, 0.8)
NEARBY = (66.0, 76.0, 126.0, 116.0, 0.9)
"""The same plate 6 px further right, in the net of 192x160 pixels of its surroundings."""
CUTS, CUTS_ALONG = 4, 6
"""Cuts of a square plate in the first two passes, and in the third."""
UNSURE, SURE = 6.0, 20.0
"""Logits of texts with scores below and above the limit."""


def look(
    first: str,
    then: str,
    logit: float,
    *,
    nearby: tuple[float, ...] = NEARBY,
    formats: Formats = BOTH,
) -> tuple[CloserInfer, str]:
    """Read a square plate; its first box says one text, and its second box another."""
    infer = CloserInfer(rows(SQUARE_BOX), rows(nearby) if nearby else rows())
    infer.texts = ["", *[first] * (CUTS - 1 + CUTS_ALONG), "", *[then] * (CUTS - 1)]
    infer.logits = (20.0, *[UNSURE] * (CUTS - 1 + CUTS_ALONG), *[logit] * CUTS)
    (plate,) = recognize(picture(), infer, Settings(text_threshold=0.0), formats=formats)
    return infer, plate.text


def test_an_unsure_plate_of_two_lines_is_found_again_from_nearby() -> None:
    infer, text = look("123ABC", "456ABC", SURE)
    assert infer.nets == [(480, 640), (160, 192)]
    assert text == "456ABC"


def test_a_less_sure_reading_of_the_second_box_does_not_count() -> None:
    infer, text = look("123ABC", "456ABC", 5.0)
    assert len(infer.nets) == 2
    assert text == "123ABC"


@pytest.mark.parametrize("nearby", [pytest.param((), id="nothing"), (0.0, 0.0, 30.0, 20.0, 0.9)])
def test_a_plate_that_is_not_found_again_keeps_its_reading(nearby: tuple[float, ...]) -> None:
    infer, text = look("123ABC", "456ABC", SURE, nearby=nearby)
    assert len(infer.nets) == 2
    assert text == "123ABC"
    assert infer.called[-1] == "yolo"  # nothing more is read


def test_a_sure_plate_is_not_searched_again() -> None:
    infer = CloserInfer(rows(SQUARE_BOX), texts=("", *["123ABC"] * 3))
    recognize(picture(), infer, formats=BOTH)
    assert len(infer.nets) == 1


def test_plates_of_one_line_are_not_searched_again() -> None:
    infer, _ = look("A001AA", "A002AA", SURE, formats=LONG_ONLY)
    assert len(infer.nets) == 1


def test_the_box_stays_the_detector_s_first() -> None:
    infer = CloserInfer(rows(SQUARE_BOX), rows(NEARBY))
    infer.texts, infer.logits = ["", *["123ABC"] * 9], (20.0, *[UNSURE] * 9)
    (plate,) = recognize(picture(), infer, formats=BOTH)
    assert plate.xyxy == SQUARE_BOX[:4]
    assert plate.detection_score == pytest.approx(SQUARE_BOX[4])
