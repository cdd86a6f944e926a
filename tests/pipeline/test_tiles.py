"""Faint finds in large pictures: looked at again in tiles of the picture as it is."""

import pytest
import torch

from orchestrator.errors import ModelError
from orchestrator.pipeline import recognize
from orchestrator.settings import Settings
from tests.scripted_networks import CloserInfer, picture, rows

FAINT = (100.0, 102.0, 120.0, 108.0, 0.1)
"""Its tile covers x of 60 to 380 of the picture, and sees a quarter of a plate at the right."""
PART = (300.0, 90.0, 320.0, 110.0, 0.9)


def test_a_faint_find_in_a_large_picture_is_looked_at_as_it_is() -> None:
    # 1920x1080 becomes 960x540 and is padded to 960x544: 2 rows above. The tile begins at 60, 110.
    faint, near = (100.0, 102.0, 120.0, 108.0, 0.1), (140.0, 92.0, 182.0, 103.0, 0.8)
    infer = CloserInfer(rows(faint), rows(near), texts=("A001AA77",))
    (plate,) = recognize(picture(1080, 1920), infer)
    assert infer.nets == [(544, 960), (192, 320)]
    assert plate.xyxy == pytest.approx((200, 202, 242, 213))
    assert plate.detection_score == pytest.approx(0.8)


def test_two_tiles_are_one_batch_and_each_answers_for_its_own_part() -> None:
    # The tiles begin at 60, 110 and at 1320, 524.
    faint = (100.0, 102.0, 120.0, 108.0, 0.2), (700.0, 302.0, 780.0, 322.0, 0.1)
    near = rows((140.0, 92.0, 182.0, 103.0, 0.8)), rows((90.0, 80.0, 190.0, 105.0, 0.7))
    infer = CloserInfer(rows(*faint), torch.cat(near), texts=("A001AA77", "B002BB99"))
    first, second = recognize(picture(1080, 1920), infer)
    assert infer.nets == [(544, 960), (192, 320)]
    assert infer.net.shape[0] == 2
    assert (first.xyxy, second.xyxy) == (
        pytest.approx((200, 202, 242, 213)),
        pytest.approx((1410, 604, 1510, 629)),
    )


def test_a_part_of_a_plate_in_a_tile_is_no_plate_beside_the_whole_one() -> None:
    infer = CloserInfer(rows(FAINT, (180.0, 102.0, 220.0, 112.0, 0.8)), rows(PART))
    (plate,) = recognize(picture(1080, 1920), infer)
    assert infer.nets == [(544, 960), (192, 320)]
    assert plate.xyxy == pytest.approx((360, 200, 440, 220))


@pytest.mark.parametrize(
    ("nearby", "boxes"),
    [
        pytest.param([(48.0, 96.0, 240.0, 192.0, 0.6)], [(350, 200, 390, 220)], id="whole"),
        pytest.param([(96.0, 96.0, 285.0, 192.0, 0.6)], [], id="cut again"),
        pytest.param([], [], id="not found again"),
    ],
)
def test_a_part_of_a_plate_in_a_tile_alone_is_completed_or_dropped(nearby, boxes) -> None:
    # The surroundings of the part are 60 px wide, begin at 340, 180, and are enlarged by 4.8.
    infer = CloserInfer(rows(FAINT), rows(PART), rows(*nearby), rows())
    plates = recognize(picture(1080, 1920), infer, outputs={"coordinates"})
    assert infer.nets[:3] == [(544, 960), (192, 320), (288, 288)]
    assert [plate.xyxy for plate in plates] == list(map(pytest.approx, boxes))


def test_an_answer_for_fewer_tiles_is_refused() -> None:
    faint = (100.0, 102.0, 120.0, 108.0, 0.2), (700.0, 302.0, 780.0, 322.0, 0.1)
    infer = CloserInfer(rows(*faint), rows())
    with pytest.raises(ModelError, match=r"wanted floats \[2, K, 6\], got float32 \[1, 0, 6\]"):
        recognize(picture(1080, 1920), infer)


def test_a_faint_find_that_is_none_from_close_by_is_no_plate() -> None:
    infer = CloserInfer(rows(FAINT), rows(), rows())
    assert len(recognize(picture(1080, 1920), infer)) == 0


@pytest.mark.parametrize(
    ("side_px", "looks"), [pytest.param(672, 2, id="0.7"), pytest.param(704, 1, id="hardly")]
)
def test_a_picture_that_is_shrunk_much_is_looked_at_twice(side_px: int, looks: int) -> None:
    sure, faint = (100.0, 100.0, 200.0, 125.0, 0.9), (100.0, 202.0, 120.0, 208.0, 0.1)
    infer = CloserInfer(rows(sure, faint), rows())
    recognize(picture(540, 960), infer, Settings(detector_side_px=side_px))
    assert len(infer.nets) == looks
