"""Plates of one and of two lines in one country."""

import pytest
import torch

from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from orchestrator.pipeline import recognize
from orchestrator.plates import Plates
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, ScriptedInfer, picture, rows

LONG, SQUARE = PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))
BOTH, SQUARE_ONLY = Formats(ALPHABET, (LONG, SQUARE)), Formats(ALPHABET, (SQUARE,))
WIDE_BOX = (100.0, 100.0, 200.0, 125.0, 0.9)
SQUARE_BOX = (300.0, 100.0, 360.0, 140.0, 0.8)


def test_russian_plates_of_square_boxes_alone_are_read_in_two_lines_as_well() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), ("A001AA77", "", *["B840OK197"] * 3))
    plates = recognize(picture(), infer, formats=russian())
    assert plates.texts == ["A001AA77", "B840OK197"]
    assert [plate.format for plate in plates] == ["ru_car", "ru_car_square"]


def test_a_square_plate_is_looked_at_three_times_more_in_two_lines() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), ("A001AA", "", *["123ABC"] * 3))
    plates = recognize(picture(), infer, formats=BOTH)
    assert infer.calls == ["yolo", "stn", "lprnet", "stn", "lprnet"]
    assert infer.batches == [2, 2, 3, 3]
    assert plates.texts == ["A001AA", "123ABC"]
    assert [plate.format for plate in plates] == ["long", "square"]


def test_a_square_box_may_hold_a_plate_of_one_line() -> None:
    infer = ScriptedInfer(rows(SQUARE_BOX), ("A001AA", ""))
    (plate,) = recognize(picture(), infer, formats=BOTH)
    assert (plate.text, plate.format) == ("A001AA", "long")


@pytest.mark.parametrize(
    ("logits", "text"),
    [pytest.param((9.0, 12.0), "123ABC", id="two"), pytest.param((12.0, 9.0), "A001AA", id="one")],
)
def test_of_two_readings_the_surer_one_stays(logits: tuple[float, float], text: str) -> None:
    infer = ScriptedInfer(
        rows(SQUARE_BOX), ("A001AA", *["123ABC"] * 3), logits=(logits[0], *[logits[1]] * 3)
    )
    (plate,) = recognize(picture(), infer, formats=BOTH)
    assert plate.text == text
    assert plate.candidates[0] == (text, plate.text_score)
    assert (plate.raw_text, len(plate.character_scores)) == (text, 6)


def test_corners_of_a_plate_in_two_lines_are_those_of_the_crop_as_it_is() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), ("A001AA", "", *["123ABC"] * 3))
    one_line_plate, two_line_plate = recognize(picture(), infer, formats=BOTH)
    # The rectifier answers with the identity, so the corners are those of the crops.
    assert two_line_plate.corners == ((295, 90), (365, 90), (365, 150), (295, 150))
    assert one_line_plate.corners == ((92, 94), (208, 94), (208, 131), (92, 131))


def test_corners_are_the_same_whether_or_not_the_text_is_asked_for() -> None:
    infer = ScriptedInfer(rows(SQUARE_BOX), ("", *["123ABC"] * 3))
    (plate_with_text,) = recognize(picture(), infer, formats=BOTH)
    (plate,) = recognize(picture(), ScriptedInfer(rows(SQUARE_BOX)), outputs={"corners"})
    assert plate.corners == plate_with_text.corners


def test_corners_of_wide_boxes_alone_need_no_reader() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX))
    recognize(picture(), infer, formats=BOTH, outputs={"corners"})
    assert infer.calls == ["yolo", "stn"]


def test_a_text_of_the_other_number_of_lines_is_no_plate() -> None:
    texts = ("123ABC", "123ABC", *["A001AA"] * 3)
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), texts)
    plates = recognize(picture(), infer, formats=BOTH)
    assert [plate.text for plate in plates] == ["", ""]


def test_where_every_plate_has_two_lines_a_square_box_is_read_so_however_badly() -> None:
    infer = ScriptedInfer(rows(SQUARE_BOX), ("A001AA", *["77"] * 3))
    (plate,) = recognize(picture(), infer, formats=SQUARE_ONLY)
    assert (plate.text, plate.raw_text) == ("", "77")


def test_where_every_plate_has_two_lines_a_wide_box_has_no_text() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX), ("A001AA",))
    (plate,) = recognize(picture(), infer, formats=SQUARE_ONLY)
    assert (plate.text, plate.text_score, plate.raw_text) == ("", 0, "A001AA")


def test_flat_and_unfolded_crops_share_the_batches() -> None:
    boxes = [
        (30.0 * i, 20.0 * i, 30.0 * i + 28, 20.0 * i + 18, 0.99 - i / 100) for i in range(1, 21)
    ]
    flat_texts = tuple(f"A{i:03}AA" for i in range(20))
    later_texts = tuple(
        text for i in range(20) for text in (*[flat_texts[i]] * 2, *[f"{i:03}ABC"] * 3)
    )
    logits = (4.0,) * 20 + (4.0, 4.0, 12.0, 12.0, 12.0) * 20
    infer = ScriptedInfer(rows(*boxes), (*flat_texts, *later_texts), logits=logits)
    plates: Plates = recognize(picture(480, 960), infer, Settings(), formats=BOTH)
    assert infer.batches == [20, 20, *[32, 32, 32, 4] * 2]
    assert plates.texts == [f"{i:03}ABC" for i in range(20)]


def test_corners_are_what_the_rectifier_says_of_the_flat_crops() -> None:
    half = torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), ("A001AA", "A002AA"), theta=half)
    wide, square = recognize(picture(), infer, formats=BOTH)
    assert wide.corners == ((121, 103.25), (179, 103.25), (179, 121.75), (121, 121.75))
    # The square box grows by 4.8 and 10 px to 295, 90, 365, 150; half of that is its middle.
    assert square.corners == ((312.5, 105), (347.5, 105), (347.5, 135), (312.5, 135))
