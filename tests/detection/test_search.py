"""Regions of interest: the part that is searched, and the plates that count."""

import numpy as np
import pytest

from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.search import keep_inside, view_of
from orchestrator.errors import ParameterError

PICTURE_WH = (1920, 1080)


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
    kept = keep_inside(Detections(xyxy, scores), (100, 0, 200, 200))
    assert kept.xyxy.tolist() == [xyxy[0].tolist(), xyxy[2].tolist()]
    assert kept.scores.tolist() == pytest.approx([0.9, 0.7])
    assert len(keep_inside(Detections(xyxy[:0], scores[:0]), (100, 0, 200, 200)).scores) == 0
