import cv2
import numpy as np
import pytest

from orchestrator.imaging.files import Bgr
from workshop.evaluation.conditions.camera_conditions import (
    AS_IT_IS,
    CONDITIONS,
    EVERY_CONDITION,
    FRAME_WH,
    FRAME_XY,
    SIZES,
    SMEARS_PX,
    TURNS_DEG,
    Condition,
    compress,
    darken,
    far,
    from_the_side,
    sized,
    smeared,
    turned,
)

SIZE_WH = (640, 480)
SPOT_XY = (420, 130)
NIGHT = Condition("night", darken)


def spot(size_wh: tuple[int, int] = SIZE_WH) -> Bgr:
    """A bright spot on black."""
    x, y = np.arange(size_wh[0]), np.arange(size_wh[1])[:, None]
    bright = 255 * np.exp(-((x - SPOT_XY[0]) ** 2 + (y - SPOT_XY[1]) ** 2) / (2 * 20.0**2))
    return np.repeat(bright[..., None], 3, axis=2).astype(np.uint8)


def names(*conditions: Condition) -> list[str]:
    return [condition.name for condition in conditions]


@pytest.mark.parametrize("condition", EVERY_CONDITION, ids=names(*EVERY_CONDITION))
def test_a_view_leaves_its_picture_alone_and_is_mapped_back_to_it(condition: Condition) -> None:
    picture = spot()
    view = condition.view(picture)
    assert (picture == spot()).all()
    smooth = cv2.GaussianBlur(view.bgr[..., 0].astype(np.float32), (0, 0), 2)
    y, x = np.unravel_index(smooth.argmax(), smooth.shape)
    assert view.to_source((float(x), float(y))) == pytest.approx(SPOT_XY, abs=6)


@pytest.mark.parametrize(
    ("condition", "size_wh"),
    [
        pytest.param(AS_IT_IS, (640, 480), id="as it is"),
        pytest.param(sized(0.5), (320, 240), id="half"),
        pytest.param(far(0.3), (1920, 1080), id="in a frame"),
        pytest.param(turned(90), (480, 640), id="turned"),
        pytest.param(turned(-30), (794, 735), id="turned on larger grey"),
        pytest.param(from_the_side(-40), (448, 855), id="from the side"),
        pytest.param(NIGHT, (640, 480), id="night"),
        pytest.param(smeared(9), (640, 480), id="smeared"),
    ],
)
def test_a_view_has_the_size_that_holds_the_picture(
    condition: Condition, size_wh: tuple[int, int]
) -> None:
    assert condition.view(spot()).bgr.shape == (size_wh[1], size_wh[0], 3)


def test_a_frame_cuts_off_what_does_not_fit() -> None:
    view = far(1).view(np.full((1000, 2000, 3), 255, np.uint8))
    assert view.bgr.shape[:2] == FRAME_WH[::-1]
    left, top = FRAME_XY
    assert (view.bgr[top:, left:] == 255).all()
    assert (view.bgr[:top] == 110).all()
    assert (view.bgr[:, :left] == 110).all()


def test_a_positive_turn_is_anticlockwise() -> None:
    x, y = turned(90).view(spot()).affine @ (640, 240, 1)  # the middle of the right edge
    assert (x, y) == pytest.approx((240, 0))


def test_from_the_side_rows_fall_and_are_shorter() -> None:
    affine = from_the_side(45).view(spot()).affine
    left, right = affine @ (0, 0, 1), affine @ (640, 0, 1)
    assert right - left == pytest.approx([448, 448])


def test_night_takes_light_away_and_adds_the_same_noise_each_time() -> None:
    grey = np.full((200, 200, 3), 128, np.uint8)
    view = NIGHT.view(grey).bgr
    assert view.mean() == pytest.approx(255 * 0.35 * (128 / 255) ** 2.2, abs=1)
    assert view.std() == pytest.approx(8, abs=0.5)
    assert (view == NIGHT.view(grey).bgr).all()


def test_a_smear_spreads_a_column_over_its_length_alone() -> None:
    line = np.zeros((20, 60, 3), np.uint8)
    line[:, 30] = 252
    smear = smeared(9).view(line).bgr[10, :, 0]
    assert np.flatnonzero(smear).tolist() == list(range(26, 35))
    assert set(smear[26:35]) == {28}


def test_a_lower_quality_is_farther_from_the_picture() -> None:
    bad, good = (compress(spot(), quality).bgr.astype(int) - spot() for quality in (15, 95))
    assert abs(bad).mean() > 2 * abs(good).mean() > 0


def test_sweeps_share_what_the_table_has_and_names_tell_all_apart() -> None:
    assert (SIZES[1], TURNS_DEG[0], SMEARS_PX[0]) == (AS_IT_IS,) * 3
    shared = {SIZES[0.33], TURNS_DEG[-20], TURNS_DEG[15], SMEARS_PX[9], SMEARS_PX[15]}
    assert shared <= set(CONDITIONS)
    assert len(set(names(*EVERY_CONDITION))) == len(EVERY_CONDITION)
