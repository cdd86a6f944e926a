from dataclasses import dataclass

import pytest
import torch

from orchestrator.contract import OUTPUTS
from orchestrator.errors import PictureError, SettingsError
from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from orchestrator.pipeline import read_crop, recognize
from orchestrator.reading import hidden_ends
from orchestrator.settings import Settings
from tests.scripted_networks import CloserInfer, ScriptedInfer, picture, rows

ONE = (100.0, 100.0, 200.0, 125.0, 0.9)


def test_a_picture_without_plates_never_reaches_the_reader() -> None:
    infer = ScriptedInfer(yolo=rows())
    assert recognize(picture(), infer).texts == []
    assert infer.calls == ["yolo", "yolo"]


def test_unsure_detections_are_no_plates() -> None:
    infer = ScriptedInfer(yolo=rows((100, 100, 200, 125, 0.39)))
    assert len(recognize(picture(), infer, Settings(detection_threshold=0.4))) == 0
    assert infer.calls == ["yolo", "yolo"]


def test_a_plate_is_found_and_read() -> None:
    (plate,) = recognize(picture(), ScriptedInfer(rows(ONE), ("B840OK197",)))
    assert plate.xyxy == pytest.approx((100, 100, 200, 125))
    assert plate.detection_score == pytest.approx(0.9)
    assert (plate.text, plate.raw_text, plate.format) == ("B840OK197", "B840OK197", "ru_car")
    assert plate.text_score > 0.99
    assert plate.candidates[0][0] == "B840OK197"
    assert len(plate.character_scores) == 9


def test_boxes_come_back_in_pixels_of_the_picture_that_was_sent() -> None:
    # 1280x720 is halved to 640x360 and padded to 640x384: 12 rows above.
    infer = ScriptedInfer(rows((100, 112, 200, 137, 0.9)), ("A001AA77",))
    (plate,) = recognize(picture(720, 1280), infer, Settings(detector_side_px=640))
    assert infer.net.shape == (1, 384, 640, 3)
    assert plate.xyxy == pytest.approx((200, 200, 400, 250))


def test_boxes_are_clipped_to_the_picture() -> None:
    infer = ScriptedInfer(rows((-10, 470, 90, 500, 0.9)), ("A001AA77",))
    (plate,) = recognize(picture(480, 640), infer)
    assert plate.xyxy == pytest.approx((0, 470, 90, 480))


def test_plates_come_best_detection_first_and_overlaps_once() -> None:
    yolo = rows((29, 29, 129, 54, 0.6), (300, 29, 400, 54, 0.8), (302, 29, 402, 54, 0.7))
    plates = recognize(picture(), ScriptedInfer(yolo, ("A001AA77", "B840OK197")))
    assert [round(plate.detection_score, 1) for plate in plates] == [0.8, 0.6]
    assert plates.texts == ["A001AA77", "B840OK197"]


def test_max_plates_keeps_the_surest() -> None:
    yolo = rows((0, 0, 100, 25, 0.6), (300, 0, 400, 25, 0.8))
    plates = recognize(picture(), ScriptedInfer(yolo, ("A001AA77",)), Settings(max_plates=1))
    assert [round(plate.detection_score, 1) for plate in plates] == [0.8]


def test_more_plates_than_a_batch_go_in_chunks_and_keep_their_order() -> None:
    boxes = [
        (20.0 * i + 9, 9.0 * i + 9, 20.0 * i + 39, 9.0 * i + 13, 0.99 - i / 100) for i in range(40)
    ]
    texts = tuple(f"A{i:03}AA77" for i in range(40))
    infer = ScriptedInfer(rows(*boxes), texts)
    plates = recognize(picture(480, 960), infer, Settings(detector_side_px=960))
    assert infer.calls == ["yolo", "stn", "stn", "lprnet", "lprnet"]
    assert infer.batches == [32, 8, 32, 8]
    assert plates.texts == list(texts)


def test_plates_too_narrow_to_be_read_are_found_and_the_others_are_read() -> None:
    near, far, narrow = (100.0, 100.0, 128.0, 107.0), (300.0, 100.0, 400.0, 125.0), (9, 9, 36.9, 14)
    infer = ScriptedInfer(rows((*narrow, 0.9), (*near, 0.8), (*far, 0.7)), ("A001AA77", "B002BB77"))
    plates = recognize(picture(), infer)
    assert [plate.text for plate in plates] == ["", "A001AA77", "B002BB77"]
    assert (plates[0].raw_text, plates[0].text_score, plates[0].candidates) == ("", 0, ())
    corners = [corner for point in plates[0].corners for corner in point]
    assert corners == pytest.approx([9, 9, 36.9, 9, 36.9, 14, 9, 14])
    assert infer.batches == [2, 2]


def test_where_every_plate_is_too_narrow_nothing_is_read() -> None:
    infer = ScriptedInfer(rows((100, 100, 120, 106, 0.9)))
    assert [plate.text for plate in recognize(picture(), infer)] == [""]
    assert infer.calls == ["yolo"]


def test_a_text_below_the_threshold_is_not_shown_but_kept_as_raw() -> None:
    infer = ScriptedInfer(rows(ONE), ("B840OK197",))
    unsure = Settings(text_threshold=0.9, temperature=10.0)
    (plate,) = recognize(picture(), infer, unsure)
    assert (plate.text, plate.format) == ("", "")
    assert plate.raw_text == "B840OK197"
    assert 0 < plate.text_score < 0.9


def test_a_reading_without_format_is_not_shown_but_kept_as_raw() -> None:
    (plate,) = recognize(picture(), ScriptedInfer(rows(ONE), ("BOOK",)))
    assert (plate.text, plate.raw_text) == ("", "BOOK")


@pytest.mark.parametrize(
    ("outputs", "networks"),
    [
        pytest.param({"coordinates", "detection_scores"}, ["yolo"], id="boxes"),
        pytest.param({"corners"}, ["yolo", "stn"], id="corners"),
        pytest.param({"texts"}, ["yolo", "stn", "lprnet"], id="texts"),
        pytest.param(set(OUTPUTS), ["yolo", "stn", "lprnet"], id="all"),
    ],
)
def test_networks_that_no_output_needs_are_not_run(outputs, networks: list[str]) -> None:
    infer = ScriptedInfer(rows(ONE), ("A001AA77",))
    assert len(recognize(picture(), infer, outputs=outputs)) == 1
    assert infer.calls == networks


def test_a_region_of_interest_is_searched_with_its_surroundings() -> None:
    # The region of 310 x 300 pixels begins at 320, 160. With 48 columns at its left (the picture
    # ends 10 columns right of it) and 24 rows above it is 368 x 344, in a net of 384 x 352: 8
    # columns and 4 rows are grey.
    infer = ScriptedInfer(rows((75, 52, 125, 64, 0.9)), ("A001AA77",))
    (plate,) = recognize(picture(), infer, Settings(roi=(320.4, 159.6, 630, 460)))
    assert infer.net.shape == (1, 352, 384, 3)
    assert plate.xyxy == pytest.approx((339, 184, 389, 196))
    assert plate.corners == ((335, 181), (393, 181), (393, 199), (335, 199))


def test_a_surer_plate_outside_the_region_takes_no_place_of_one_inside() -> None:
    inside, outside = (109.0, 100.0, 169.0, 115.0, 0.8), (300.0, 100.0, 360.0, 115.0, 0.9)
    settings = Settings(roi=(0, 0, 320, 480), max_plates=1)
    (plate,) = recognize(picture(), ScriptedInfer(rows(inside, outside)), settings)
    assert plate.xyxy == pytest.approx((101, 100, 161, 115))


def test_a_plate_wider_than_the_surroundings_of_a_region_is_looked_at_again_and_whole() -> None:
    # 368 columns are searched, with 8 grey ones before them. The plate goes on from 368 to 400.
    # Its surroundings are 3 x 160 px wide, begin at 48, -124, and are scaled by 0.6.
    part, whole = (216.0, 106.0, 376.0, 126.0, 0.9), (96.0, 138.0, 211.2, 150.0, 0.8)
    infer = CloserInfer(rows(part), rows(whole), texts=("B840OK197",))
    (plate,) = recognize(picture(), infer, Settings(roi=(0, 0, 320, 480)))
    assert infer.nets == [(480, 384), (288, 288)]
    assert plate.xyxy == pytest.approx((208, 106, 400, 126))
    assert plate.text == "B840OK197"


def test_a_plate_that_the_surroundings_cut_and_nobody_finds_whole_is_no_plate() -> None:
    part = rows((216.0, 106.0, 376.0, 126.0, 0.9))
    infer = CloserInfer(part, rows())
    assert len(recognize(picture(), infer, Settings(roi=(0, 0, 320, 480)))) == 0


def test_a_plate_that_the_edge_of_the_picture_may_cut_has_no_sure_text() -> None:
    infer = ScriptedInfer(rows((540.0, 100.0, 639.0, 125.0, 0.9)), ("B840OK19",))
    (plate,) = recognize(picture(), infer)
    assert (plate.text, plate.format, plate.raw_text) == ("", "", "B840OK19")
    assert plate.text_score == pytest.approx(0.5, abs=0.01)
    assert plate.candidates[0] == ("B840OK19", plate.text_score)


@pytest.mark.parametrize(("evidence", "text", "score"), [(0.9, "B840OK19", 1), (1.1, "", 0.5)])
def test_a_plate_whose_end_is_hidden_has_no_sure_text(monkeypatch, evidence, text, score) -> None:
    monkeypatch.setattr(hidden_ends, "weigh_ends", lambda *_: [evidence])
    infer = ScriptedInfer(rows((240.0, 100.0, 339.0, 125.0, 0.9)), ("B840OK19",))
    (plate,) = recognize(picture(), infer)
    assert (plate.text, plate.raw_text) == (text, "B840OK19")
    assert plate.text_score == pytest.approx(score, abs=0.01)


def test_the_look_at_a_plates_end_takes_time_of_the_texts(monkeypatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(hidden_ends, "weigh_ends", lambda *_: steps.append("look") or [0.0])
    infer = ScriptedInfer(rows((240.0, 100.0, 339.0, 125.0, 0.9)), ("B840OK19",))
    infer.lap = steps.append
    recognize(picture(), infer)
    assert steps == ["crops", "texts", "look", "texts"]


def test_too_large_a_picture_is_refused() -> None:
    with pytest.raises(PictureError, match="wanted 1 to 1000 pixels, got 640x480"):
        recognize(picture(), ScriptedInfer(rows()), Settings(max_pixels=1000))


def test_the_picture_is_left_alone() -> None:
    original = picture()
    copy = original.clone()
    recognize(original, ScriptedInfer(rows(ONE), ("A001AA77",)))
    assert torch.equal(original, copy)


@dataclass
class InferOfACountry:
    """Networks with the name of their country."""

    scripted: ScriptedInfer
    formats: Formats

    def __call__(self, model, tensors):
        return self.scripted(model, tensors)


MOON = Formats(russian().alphabet, (PlateFormat("moon", ("LDDDLLDDD",)),))


def test_plates_are_those_of_the_networks() -> None:
    (plate,) = recognize(picture(), InferOfACountry(ScriptedInfer(rows(ONE), ("B840OK197",)), MOON))
    assert (plate.text, plate.format) == ("B840OK197", "moon")


def test_formats_given_beside_the_networks_come_first() -> None:
    infer = InferOfACountry(ScriptedInfer(rows(ONE), ("B840OK197",)), MOON)
    (plate,) = recognize(picture(), infer, formats=russian())
    assert plate.format == "ru_car"


def test_a_crop_is_read_without_the_detector() -> None:
    infer = ScriptedInfer(rows(), ("B840OK197",))
    (plate,) = read_crop(picture(30, 90), infer, Settings())
    assert infer.calls == ["stn", "lprnet"]
    assert (plate.text, plate.format, plate.xyxy) == ("B840OK197", "ru_car", (0, 0, 90, 30))


def test_an_unsure_reading_of_a_crop_is_not_told() -> None:
    infer = ScriptedInfer(rows(), ("B840OK197",), logits=(2.0,))
    (plate,) = read_crop(picture(30, 90), infer, Settings(text_threshold=0.9))
    assert plate.text == ""
    assert 0 < plate.text_score < 0.9


def test_a_crop_that_is_no_picture_is_refused() -> None:
    with pytest.raises(PictureError, match="wanted a UINT8 picture"):
        read_crop(torch.zeros(30, 90), ScriptedInfer(rows()), Settings())


def test_formats_in_another_alphabet_than_the_networks_are_refused() -> None:
    other = Formats("10A", (PlateFormat("other", ("LD",)),))
    infer = InferOfACountry(ScriptedInfer(rows(ONE)), MOON)
    with pytest.raises(
        SettingsError,
        match=f"^formats: wanted the alphabet that the weights read, {MOON.alphabet}, got 10A$",
    ):
        recognize(picture(), infer, formats=other)
