"""Regions of interest and tiles: the part that is searched, and the plates that count."""

import numpy as np
import pytest

from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.search import keep_inside, view_of
from orchestrator.detection.tiles import drop_seen, keep_whole, split_cut
from orchestrator.errors import ParameterError

PICTURE_WH = (1920, 1080)
WHOLE = (40.0, 60.0, 120.0, 80.0)


def detections(*boxes: tuple[float, ...]) -> Detections:
    xyxy = np.array(boxes).reshape(-1, 4)
    return Detections(xyxy, np.linspace(0.9, 0.5, len(xyxy)))


@pytest.mark.parametrize(
    ("box", "tile", "is_whole"),
    [
        pytest.param(WHOLE, (60, 110, 380, 302), True, id="inside"),
        pytest.param((2, 60, 80, 80), (60, 110, 380, 302), False, id="at the left edge"),
        pytest.param((40, 1, 120, 20), (60, 110, 380, 302), False, id="at the upper edge"),
        pytest.param((250, 60, 318, 80), (60, 110, 380, 302), False, id="at the right edge"),
        pytest.param((40, 170, 120, 191), (60, 110, 380, 302), False, id="at the lower edge"),
        pytest.param((12, 60, 92, 80), (60, 110, 380, 302), True, id="15 % of its width away"),
        pytest.param((11, 60, 91, 80), (60, 110, 380, 302), False, id="nearer"),
        pytest.param((0, 0, 80, 20), (0, 0, 320, 192), True, id="where the picture begins"),
        pytest.param((250, 170, 320, 192), (1600, 888, 1920, 1080), True, id="where it ends"),
    ],
)
def test_a_detection_at_an_edge_of_a_tile_may_be_cut(box, tile, is_whole) -> None:
    whole, cut = split_cut(detections(box), tile, PICTURE_WH)
    assert (len(whole.scores), len(cut.scores)) == (is_whole, not is_whole)
    (moved_box,) = (whole if is_whole else cut).xyxy.tolist()
    assert moved_box == [at + tile[index % 2] for index, at in enumerate(box)]


def test_detections_that_no_edge_of_a_picture_may_cut_are_kept() -> None:
    whole_plates = keep_whole(
        detections(WHOLE, (0.0, 60.0, 80.0, 80.0), (200.0, 60.0, 280.0, 80.0)), (288, 288)
    )
    assert whole_plates.xyxy.tolist() == [list(WHOLE)]
    assert whole_plates.scores.tolist() == pytest.approx([0.9])


def test_a_part_of_a_whole_plate_is_dropped_whatever_its_score() -> None:
    part, other = (100.0, 58.0, 120.0, 82.0), (100.0, 70.0, 120.0, 100.0)
    remainder = drop_seen(detections(part, other), detections((0.0, 0.0, 5.0, 5.0), WHOLE))
    assert remainder.xyxy.tolist() == [list(other)]
    assert remainder.scores.tolist() == pytest.approx([0.5])


def test_without_whole_plates_each_part_stays() -> None:
    parts = detections(WHOLE)
    assert np.array_equal(drop_seen(parts, detections()).xyxy, parts.xyxy)


@pytest.mark.parametrize(
    ("roi", "view"),
    [
        pytest.param((600, 400, 1240, 880), (552, 376, 1288, 904), id="least surroundings"),
        pytest.param((100, 300, 1700, 700), (0, 250, 1800, 750), id="a sixteenth, half of it high"),
        pytest.param((0, 0, 1920, 1080), (0, 0, 1920, 1080), id="the whole picture"),
        pytest.param((-50, 1000, 9, 2000), (0, 976, 57, 1080), id="over the edge"),
        pytest.param((600.4, 399.6, 640, 440), (552, 376, 688, 464), id="rounded"),
    ],
)
def test_the_surroundings_of_a_region_are_searched_too(roi, view) -> None:
    assert view_of(roi, PICTURE_WH) == view


@pytest.mark.parametrize(
    "roi",
    [
        pytest.param((1930, 0, 1990, 10), id="right of the picture"),
        pytest.param((0, 1080, 10, 1090), id="below it"),
        pytest.param((10.1, 5, 10.4, 20), id="within a column"),
        pytest.param((10, 5.1, 20, 5.4), id="within a row"),
    ],
)
def test_a_region_without_a_whole_pixel_is_refused(roi) -> None:
    with pytest.raises(ParameterError, match="roi: wanted a part of the 1920x1080 picture"):
        view_of(roi, PICTURE_WH)


def test_detections_whose_middle_lies_in_the_region_are_kept() -> None:
    xyxy = np.array(
        [
            (80.0, 100.0, 120.0, 110.0),  # its middle lies on the left border
            (79.0, 100.0, 119.0, 110.0),
            (180.0, 100.0, 219.0, 110.0),
            (180.0, 100.0, 220.0, 110.0),  # on the right border
            (140.0, 195.0, 160.0, 205.0),  # on the lower border
        ]
    )
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    plates_inside = keep_inside(Detections(xyxy, scores), (100, 0, 200, 200))
    assert plates_inside.xyxy.tolist() == [xyxy[0].tolist(), xyxy[2].tolist()]
    assert plates_inside.scores.tolist() == pytest.approx([0.9, 0.7])
    assert len(keep_inside(Detections(xyxy[:0], scores[:0]), (100, 0, 200, 200)).scores) == 0
