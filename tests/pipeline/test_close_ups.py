"""Pictures that one plate fills: searched again at a small size."""

import pytest

from orchestrator.pipeline import recognize
from orchestrator.settings import Settings
from tests.scripted_networks import CloserInfer, picture, rows

FULL_WIDTH_BOX = (16.0, 32.0, 112.0, 53.0, 0.9)
"""A plate that fills a picture of 1280x960 pixels, in its letterbox of 128x96."""


def test_a_plate_that_fills_the_picture_is_found_at_a_small_size() -> None:
    infer = CloserInfer(rows(), rows(FULL_WIDTH_BOX), texts=("A001AA77",))
    (plate,) = recognize(picture(960, 1280), infer)
    assert infer.nets == [(736, 960), (96, 128)]
    assert plate.xyxy == pytest.approx((160, 320, 1120, 530))
    assert (plate.text, plate.detection_score) == ("A001AA77", pytest.approx(0.9))


def test_a_close_up_in_a_region_is_answered_in_picture_pixels() -> None:
    # The region of 1152 x 864 is searched with 72 columns and 36 rows around it: 1296 x 936.
    infer = CloserInfer(rows(), rows(FULL_WIDTH_BOX))
    (plate,) = recognize(picture(1000, 2000), infer, Settings(roi=(500, 40, 1652, 904)))
    assert infer.nets == [(704, 960), (96, 128)]
    assert plate.xyxy == pytest.approx((590, 311.1, 1562, 523.8), abs=0.1)


@pytest.mark.parametrize(("score", "looks"), [pytest.param(0.69, 2), pytest.param(0.71, 1)])
def test_a_picture_with_a_sure_plate_is_no_close_up(score: float, looks: int) -> None:
    infer = CloserInfer(rows((100, 100, 200, 125, score)), rows())
    assert len(recognize(picture(), infer)) == 1
    assert len(infer.nets) == looks


def test_a_close_up_follows_the_threshold_of_the_request() -> None:
    infer = CloserInfer(rows(), rows(FULL_WIDTH_BOX))
    assert len(recognize(picture(960, 1280), infer, Settings(detection_threshold=0.95))) == 0


def test_a_picture_as_small_as_the_close_up_is_looked_at_once() -> None:
    infer = CloserInfer(rows())
    assert len(recognize(picture(96, 128), infer)) == 0
    assert infer.nets == [(96, 128)]
