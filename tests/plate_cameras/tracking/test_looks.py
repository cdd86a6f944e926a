"""Looks at plates whose measures are worked out by hand. Frames are 1000 by 500 pixels."""

from dataclasses import replace
from math import sqrt

import pytest

from orchestrator.plates import Plate, PlateCountry, Plates
from plate_cameras.tracking.looks import best_text, quality_of, take_looks
from tests.plate_cameras.passing import CAMERA, KnownSharpness, frame, look, observation, plate

TEXT, OTHER = "A123BC77", "M456OP199"


def texts(*plates: Plate, pixels: KnownSharpness | None = None) -> list[tuple[str, float]]:
    """Return text and left side of the plates of a frame that count."""
    looks = take_looks(CAMERA, frame(0), Plates(plates), pixels or KnownSharpness())
    return [(look.text, look.observation.plate.xyxy[0]) for look in looks]


@pytest.mark.parametrize(
    ("plate_", "best"),
    [
        pytest.param(plate((0, 0), "", 0.9), ("", 0), id="no reading"),
        pytest.param(
            replace(plate((0, 0), TEXT, 0.9), candidates=()), (TEXT, 0.9), id="no candidates"
        ),
        pytest.param(
            replace(plate((0, 0), "", 0), candidates=((TEXT, 0.4), (OTHER, 0.3))),
            (TEXT, 0.4),
            id="too unsure for a text",
        ),
    ],
)
def test_the_best_text_is_the_likeliest_with_a_format(
    plate_: Plate, best: tuple[str, float]
) -> None:
    assert best_text(plate_) == best


def test_a_plate_that_the_edge_cuts_has_neither_text_nor_country() -> None:
    cut = replace(plate((50, 100)), format="kz_car", country=PlateCountry("kz", 0.9))
    counted_plate = look(0, cut).observation.plate
    assert (counted_plate.text, counted_plate.format, counted_plate.country) == ("", "", None)


@pytest.mark.parametrize(
    ("width", "sharpness", "quality"),
    [
        pytest.param(90, 0.4, 1, id="wide and sharp enough"),
        pytest.param(200, 1.0, 1, id="more adds nothing"),
        pytest.param(55, 1.0, 0.1 + 0.9 * sqrt(0.5), id="half of the pixels that add something"),
        pytest.param(90, 0.1, 0.1 + 0.9 / 4, id="a quarter of the sharpness"),
        pytest.param(55, 0.2, 0.1 + 0.9 * sqrt(0.5) / 2, id="both"),
        pytest.param(20, 1.0, 0.1, id="too small to be read"),
        pytest.param(5, 1.0, 0.1, id="smaller"),
        pytest.param(200, 0.0, 0.1, id="smeared"),
    ],
)
def test_quality_comes_of_width_and_sharpness(
    width: float, sharpness: float, quality: float
) -> None:
    observation_ = observation(0, plate((500, 100), width=width), sharpness)
    assert quality_of(observation_) == pytest.approx(quality)


@pytest.mark.parametrize(
    ("xyxy", "counts"),
    [
        pytest.param((300, 200, 301, 220), False, id="one pixel wide"),
        pytest.param((300, 200, 301.5, 220), True, id="wider"),
        pytest.param((300, 200, 400, 201), False, id="one pixel high"),
        pytest.param((300, 200, 400, 201.5), True, id="higher"),
        pytest.param((300, 200, 299, 220), False, id="turned round"),
        pytest.param((300, 200, 400, 199), False, id="upside down"),
    ],
)
def test_a_box_without_pixels_is_left_out(
    xyxy: tuple[float, float, float, float], counts: bool
) -> None:
    assert len(texts(replace(plate((0, 0), ""), xyxy=xyxy))) == counts


def set_detection_score(plate_: Plate, score: float) -> Plate:
    return replace(plate_, detection_score=score)


@pytest.mark.parametrize(
    ("first", "second", "lefts_px"),
    [
        pytest.param(plate((200, 100)), plate((600, 100), OTHER), [150, 550], id="two vehicles"),
        pytest.param(plate((200, 100), ""), plate((600, 100), ""), [150, 550], id="unread"),
        pytest.param(plate((200, 100)), plate((600, 100)), [150], id="alike"),
        pytest.param(
            plate((200, 100), score=0.8), plate((600, 100), score=0.9), [550], id="read better"
        ),
        pytest.param(
            plate((200, 100), score=0.9), plate((600, 100), score=0.8), [150], id="read worse"
        ),
        pytest.param(
            set_detection_score(plate((200, 100), score=0.9), 0.5),
            set_detection_score(plate((600, 100), score=0.6), 0.9),
            [550],
            id="read worse and detected better",
        ),
        pytest.param(
            plate((200, 100), score=0.9, width=55), plate((600, 100), score=0.8), [550], id="larger"
        ),
        pytest.param(
            plate((200, 100), score=0.49), plate((600, 100), score=0.49), [150, 550], id="unsure"
        ),
        pytest.param(
            plate((200, 100), score=0.5), plate((600, 100), score=0.5), [150], id="just sure"
        ),
        pytest.param(
            plate((200, 100), score=0.49), plate((600, 100), score=0.9), [550], id="one is unsure"
        ),
    ],
)
def test_a_text_that_stands_twice_in_a_frame_is_one_vehicle(
    first: Plate, second: Plate, lefts_px: list[float]
) -> None:
    assert [left_px for _, left_px in texts(first, second)] == lefts_px
