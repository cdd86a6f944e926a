"""Close-ups: the pictures that need the second detection, and the boxes that it replaces."""

import numpy as np
import pytest

from orchestrator.detection.letterbox import Letterbox
from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.search import drop_parts, keep_close_ups, search
from orchestrator.settings import Settings


def detections(*rows: tuple[float, float, float, float, float]) -> Detections:
    boxes = np.array(rows, np.float32).reshape(-1, 5)
    return Detections(boxes[:, :4], boxes[:, 4])


def count_looks(found: Detections, size_hw: tuple[int, int]) -> int:
    """Return how often a detector that always finds the same is asked."""
    sides: list[int] = []

    def yolo(_: object, settings: Settings) -> tuple[list[Detections], list[Letterbox]]:
        sides.append(settings.detector_side_px)
        return [found], [Letterbox(net, 1.0, (0, 0))]

    net = np.zeros((1, *size_hw, 3), np.uint8)
    search(net[0], yolo, Settings())
    return len(sides)


NONE = detections()
WIDE = (100.0, 100.0, 400.0, 200.0, 0.9)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(NONE, True, id="nothing found"),
        pytest.param(detections((0, 0, 40, 10, 0.69)), True, id="nothing sure"),
        pytest.param(detections((0, 0, 40, 10, 0.71), (0, 40, 40, 50, 0.4)), False, id="one sure"),
    ],
)
def test_a_picture_without_a_sure_detection_may_be_a_close_up(
    found: Detections, wanted: bool
) -> None:
    assert count_looks(found, (736, 960)) == 1 + wanted


@pytest.mark.parametrize(
    ("size_hw", "wanted"),
    [
        pytest.param((96, 128), False, id="as large"),
        pytest.param((96, 160), True, id="wider"),
        pytest.param((160, 96), True, id="higher"),
    ],
)
def test_a_letterbox_as_small_as_that_for_close_ups_is_no_other_look(size_hw, wanted) -> None:
    assert count_looks(NONE, size_hw) == 1 + wanted


def test_wide_boxes_with_a_high_score_are_close_ups() -> None:
    found = detections(WIDE, (0, 0, 299, 90, 0.9), (0, 0, 300, 90, 0.5), (0, 0, 400, 90, 0.49))
    kept = keep_close_ups(found, 1000)
    assert kept.xyxy.tolist() == [list(WIDE[:4]), [0, 0, 300, 90]]
    assert kept.scores.tolist() == pytest.approx([0.9, 0.5])
    assert len(found.scores) == 4


def test_no_detections_have_no_close_ups_and_no_parts() -> None:
    assert len(keep_close_ups(NONE, 1000).scores) == 0
    assert len(drop_parts(NONE, detections(WIDE)).scores) == 0


@pytest.mark.parametrize(
    ("box", "stays"),
    [
        pytest.param((300, 120, 390, 190), False, id="inside"),
        pytest.param((71, 120, 171, 190), False, id="71 % inside"),
        pytest.param((69, 120, 169, 190), True, id="69 % inside"),
        pytest.param((500, 120, 590, 190), True, id="beside"),
    ],
)
def test_detections_inside_a_close_up_are_its_parts(box, stays: bool) -> None:
    left = drop_parts(detections((*box, 0.6)), detections(WIDE))
    assert len(left.scores) == stays


def test_a_detection_that_is_surer_than_the_close_up_around_it_stays() -> None:
    plate, grille = (200.0, 150.0, 280.0, 170.0, 0.65), (100.0, 100.0, 400.0, 200.0, 0.6)
    assert len(drop_parts(detections(plate), detections(grille)).scores) == 1


def test_without_a_close_up_every_detection_stays() -> None:
    found = detections(WIDE, (0, 0, 40, 10, 0.4))
    assert np.array_equal(drop_parts(found, NONE).xyxy, found.xyxy)
