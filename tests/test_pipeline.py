from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from orchestrator.contract import OUTPUTS
from orchestrator.errors import ModelError, ParameterError, PictureError
from orchestrator.formats import russian
from orchestrator.pipeline import corners_of, recognize, region
from orchestrator.settings import Settings

IDENTITY = torch.tensor([[1.0, 0, 0], [0, 1, 0]])
ALPHABET, BLANK = russian().alphabet, russian().blank


def picture(height: int = 480, width: int = 640) -> Tensor:
    return torch.full((height, width, 3), 90, dtype=torch.uint8)


def rows(*boxes: tuple[float, ...]) -> Tensor:
    """The detector's answer: x0 y0 x1 y1 score, in letterbox pixels."""
    return torch.tensor([(*box, 0.0) for box in boxes]).reshape(1, -1, 6)


def logits_of(text: str, logit: float = 20.0) -> Tensor:
    logits = torch.zeros(BLANK + 1, 18)
    steps = [ALPHABET.index(char) for char in text]
    for step in range(18):
        char, is_char = divmod(step, 2)
        logits[steps[char] if not is_char and char < len(steps) else BLANK, step] = logit
    return logits


class ScriptedInfer:
    """Networks that say what the test wants: the detector once, the others a plate at a time."""

    def __init__(self, yolo: Tensor, texts: tuple[str, ...] = (), theta: Tensor = IDENTITY):
        self.yolo, self.texts, self.theta = yolo, list(texts), theta
        self.called: list[str] = []
        self.batches: list[int] = []

    def __call__(self, model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        (given,) = tensors.values()
        self.called.append(model)
        if model == "yolo":
            self.net = given
            return {"output__0": self.yolo}
        self.batches.append(len(given))
        if model == "stn":
            return {"output__0": given, "output__1": self.theta.expand(len(given), 2, 3)}
        read, self.texts = self.texts[: len(given)], self.texts[len(given) :]
        return {"output__0": torch.stack([logits_of(text) for text in read])}


ONE = (100.0, 100.0, 200.0, 125.0, 0.9)


def test_a_picture_without_plates_never_reaches_the_reader() -> None:
    infer = ScriptedInfer(yolo=rows())
    assert recognize(picture(), infer).texts == []
    assert infer.called == ["yolo"]


def test_unsure_detections_are_no_plates() -> None:
    infer = ScriptedInfer(yolo=rows((100, 100, 200, 125, 0.39)))
    assert len(recognize(picture(), infer, Settings(detection_threshold=0.4))) == 0
    assert infer.called == ["yolo"]


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
    yolo = rows((0, 0, 100, 25, 0.6), (300, 0, 400, 25, 0.8), (302, 0, 402, 25, 0.7))
    plates = recognize(picture(), ScriptedInfer(yolo, ("A001AA77", "B840OK197")))
    assert [round(plate.detection_score, 1) for plate in plates] == [0.8, 0.6]
    assert plates.texts == ["A001AA77", "B840OK197"]


def test_rows_of_a_detector_that_come_unsorted_lose_no_plate() -> None:
    yolo = rows((0, 0, 100, 25, 0.1), (300, 0, 400, 25, 0.8), (0, 200, 100, 225, 0.9))
    plates = recognize(picture(), ScriptedInfer(yolo, ("A001AA77", "B840OK197")))
    assert [round(plate.detection_score, 1) for plate in plates] == [0.9, 0.8]


def test_max_plates_keeps_the_surest() -> None:
    yolo = rows((0, 0, 100, 25, 0.6), (300, 0, 400, 25, 0.8))
    plates = recognize(picture(), ScriptedInfer(yolo, ("A001AA77",)), Settings(max_plates=1))
    assert [round(plate.detection_score, 1) for plate in plates] == [0.8]


def test_more_plates_than_a_batch_go_in_chunks_and_keep_their_order() -> None:
    boxes = [(20.0 * i, 10.0 * i, 20.0 * i + 18, 10.0 * i + 6, 0.99 - i / 100) for i in range(40)]
    texts = tuple(f"A{i:03}AA77" for i in range(40))
    infer = ScriptedInfer(rows(*boxes), texts)
    plates = recognize(picture(480, 960), infer, Settings(detector_side_px=960))
    assert infer.called == ["yolo", "stn", "stn", "lprnet", "lprnet"]
    assert infer.batches == [32, 8, 32, 8]
    assert plates.texts == list(texts)


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
    ("outputs", "called"),
    [
        pytest.param({"coordinates", "detection_scores"}, ["yolo"], id="boxes"),
        pytest.param({"corners"}, ["yolo", "stn"], id="corners"),
        pytest.param({"texts"}, ["yolo", "stn", "lprnet"], id="texts"),
        pytest.param(set(OUTPUTS), ["yolo", "stn", "lprnet"], id="all"),
    ],
)
def test_networks_that_no_output_needs_are_not_run(outputs, called: list[str]) -> None:
    infer = ScriptedInfer(rows(ONE), ("A001AA77",))
    assert len(recognize(picture(), infer, outputs=outputs)) == 1
    assert infer.called == called


def test_a_region_of_interest_is_searched_alone_and_answered_in_picture_pixels() -> None:
    infer = ScriptedInfer(rows((10, 20, 60, 32, 0.9)), ("A001AA77",))
    (plate,) = recognize(picture(), infer, Settings(roi=(320, 160, 640, 480)))
    assert infer.net.shape == (1, 320, 320, 3)
    assert plate.xyxy == pytest.approx((330, 180, 380, 192))
    assert plate.corners[0] == pytest.approx((327, 178), abs=1)


def test_a_region_reaching_over_the_edge_is_clipped() -> None:
    view, origin_xy = region(picture(), (600, -50, 900, 100))
    assert view.shape == (100, 40, 3)
    assert origin_xy == (600, 0)


def test_a_region_outside_the_picture_is_refused() -> None:
    with pytest.raises(ParameterError, match="roi: wanted a part of the 640x480 picture"):
        recognize(picture(), ScriptedInfer(rows()), Settings(roi=(700, 0, 800, 10)))


def test_too_large_a_picture_is_refused() -> None:
    with pytest.raises(PictureError, match="wanted 1 to 1000 pixels, got 640x480"):
        recognize(picture(), ScriptedInfer(rows()), Settings(max_pixels=1000))


def test_a_detector_with_another_answer_is_named() -> None:
    with pytest.raises(ModelError, match=r"yolo: wanted \[1, K, 6\], got \[1, 5\]"):
        recognize(picture(), ScriptedInfer(torch.zeros(1, 5)))


def test_corners_of_the_identity_are_the_box() -> None:
    corners = corners_of(IDENTITY[None], [(10, 20, 110, 50)])
    assert corners.tolist() == [[[10, 20], [110, 20], [110, 50], [10, 50]]]


def test_corners_follow_theta() -> None:
    # Half as wide, shifted right by a quarter of the box, sheared down to the right.
    theta = torch.tensor([[[0.5, 0.0, 0.5], [0.2, 1.0, 0.0]]])
    corners = corners_of(theta, [(0, 0, 100, 100)])
    assert torch.allclose(corners, torch.tensor([[[50.0, -10], [100, 10], [100, 110], [50, 90]]]))


def test_the_picture_is_left_alone() -> None:
    given = picture()
    before = given.clone()
    recognize(given, ScriptedInfer(rows(ONE), ("A001AA77",)))
    assert torch.equal(given, before)
