import cv2
import numpy as np
import pytest

from orchestrator.errors import SettingsError
from plate_cameras.blurring import Bgr, Xyxy, blur_frame, blur_still, coarsen, hide_plates
from plate_cameras.configuration import Store

PLATE: Xyxy = (800.0, 600.0, 920.0, 626.0)
NEIGHBOUR: Xyxy = (200.0, 500.0, 320.0, 526.0)
BESIDE: Xyxy = (930.0, 600.0, 1010.0, 620.0)
"""A plate within the part that stays sharp."""


def noise(seed: int = 0) -> Bgr:
    return np.random.default_rng(seed).integers(0, 256, (1080, 1920, 3), dtype=np.uint8)


def part(picture: Bgr, box: Xyxy) -> Bgr:
    x0, y0, x1, y1 = map(int, box)
    return picture[y0:y1, x0:x1]


def spread(picture: Bgr) -> float:
    """Return the mean difference of neighbouring pixels, which is large for letters and faces."""
    return float(np.abs(np.diff(picture.astype(float), axis=1)).mean())


def test_the_vehicles_front_stays_as_it_was() -> None:
    frame = noise()
    blurred = blur_frame(frame, PLATE, [], "surroundings")
    front = (680.0, 510.0, 1040.0, 686.0)
    assert (part(blurred, front) == part(frame, front)).all()


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((680.0, 300.0, 1040.0, 509.0), id="above, where a driver sits"),
        pytest.param((560.0, 510.0, 679.0, 686.0), id="beside"),
        pytest.param((0.0, 0.0, 100.0, 100.0), id="corner"),
    ],
)
def test_everything_else_keeps_no_detail(box: Xyxy) -> None:
    frame = noise()
    blurred = blur_frame(frame, PLATE, [], "surroundings")
    assert spread(part(frame, box)) > 80
    assert spread(part(blurred, box)) < 1


@pytest.mark.parametrize("blur", ["surroundings", "plates"])
@pytest.mark.parametrize(
    "other", [pytest.param(NEIGHBOUR, id="far"), pytest.param(BESIDE, id="beside")]
)
def test_nothing_of_another_plate_is_left(blur: str, other: Xyxy) -> None:
    first, second = noise(), noise()
    part(second, other)[:] = 255 - part(second, other)
    blurred = [blur_frame(frame, PLATE, [other], blur) for frame in (first, second)]
    assert (part(first, other) != part(second, other)).any()
    assert (blurred[0] == blurred[1]).all()


def test_a_second_box_of_the_same_plate_does_not_hide_it() -> None:
    frame = noise()
    again = (796.0, 598.0, 924.0, 630.0)
    assert (part(blur_frame(frame, PLATE, [again], "plates"), PLATE) == part(frame, PLATE)).all()


@pytest.mark.parametrize("blur", ["surroundings", "plates"])
def test_the_margin_of_a_neighbour_hides_no_outer_letter_of_the_plate(blur: str) -> None:
    frame = noise()
    near, between = (923.0, 600.0, 1000.0, 626.0), (918.0, 600.0, 923.0, 626.0)
    blurred = blur_frame(frame, PLATE, [near], blur)
    assert (part(blurred, between) == part(frame, between)).all()
    assert (part(blurred, near) == 128).all()


def test_a_coarse_picture_is_made_of_its_mean_colours_alone() -> None:
    frame = noise()
    means = cv2.resize(frame, (24, 14), interpolation=cv2.INTER_AREA)
    same_means = cv2.resize(means, (1920, 1080), interpolation=cv2.INTER_LINEAR)
    assert (coarsen(frame, 24) == same_means).all()


def test_a_small_picture_is_coarsened_to_its_own_columns() -> None:
    assert coarsen(noise()[:4, :10], 24).shape == (4, 10, 3)
    assert coarsen(noise()[:1, :100], 24).shape == (1, 100, 3)


@pytest.mark.parametrize("blur", ["surroundings", "plates"])
def test_no_plate_of_a_still_stays_readable(blur: str) -> None:
    first, second = noise(), noise()
    part(second, PLATE)[:] = 0
    stills = [blur_still(frame, [PLATE, NEIGHBOUR], blur) for frame in (first, second)]
    assert (stills[0] == stills[1]).all()


def test_a_still_shows_the_place_but_no_detail() -> None:
    frame = np.zeros((1080, 1920, 3), np.uint8)
    frame[:, 960:] = 200
    still = blur_still(frame, [], "surroundings")
    assert still[540, 900].max() < 10
    assert still[540, 1020].min() > 190
    assert spread(blur_still(noise(), [], "surroundings")) < 2


def test_nothing_is_blurred_without_the_wish() -> None:
    frame = noise()
    assert (blur_frame(frame, PLATE, [NEIGHBOUR], "none") == frame).all()
    assert (blur_still(frame, [PLATE], "none") == frame).all()


def test_arguments_stay_as_they_were() -> None:
    frame = noise()
    blur_frame(frame, PLATE, [NEIGHBOUR], "none")[:] = 0
    blur_frame(frame, PLATE, [NEIGHBOUR], "surroundings")
    blur_still(frame, [PLATE], "plates")
    assert (frame == noise()).all()


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((-50.0, -20.0, 60.0, 9.0), id="top-left"),
        pytest.param((1880.0, 1070.0, 1990.0, 1100.0), id="bottom-right"),
        pytest.param((2000.0, 1200.0, 2100.0, 1220.0), id="outside"),
    ],
)
def test_boxes_at_the_edge_are_clipped(box: Xyxy) -> None:
    assert hide_plates(noise(), [box]).shape == (1080, 1920, 3)
    assert blur_frame(noise(), box, [box], "surroundings").shape == (1080, 1920, 3)


def test_an_unknown_choice_is_rejected() -> None:
    assert Store(blur="plates").blur == "plates"
    with pytest.raises(SettingsError, match="blur: wanted one of surroundings, plates, none"):
        Store(blur="faces")
