"""The steps of text reading, with results worked out by hand."""

import json

import cv2
import numpy as np
import pytest

from examples.ocr import networks, steps
from orchestrator.errors import PictureError, SettingsError

WHITE = np.full((480, 640, 3), 255, np.uint8)


def png(bgr: np.ndarray) -> np.ndarray:
    return np.array([cv2.imencode(".png", bgr)[1].tobytes()], np.object_)


def text_map(*regions: tuple[int, int, int, int], prob: float = 0.9) -> np.ndarray:
    """Return a detector's answer with text in rectangles x0 y0 x1 y1, both ends included."""
    probs = np.zeros((480, 640), np.float32)
    for x0, y0, x1, y1 in regions:
        probs[y0 : y1 + 1, x0 : x1 + 1] = prob
    return probs


def records_of(answer: tuple[np.ndarray]) -> list[dict]:
    return json.loads(answer[0][0])


# The picture for the detector


@pytest.mark.parametrize(
    ("size", "input_hw"),
    [
        pytest.param((1280, 2560), (640, 1280), id="a large one is scaled down"),
        pytest.param((100, 300), (96, 288), id="a small one keeps its size, in steps of 32"),
        pytest.param((3, 5), (32, 32), id="no side is shorter than 32"),
        pytest.param((10, 5000), (32, 1280), id="a strip"),
    ],
)
def test_the_detector_gets_multiples_of_32(
    size: tuple[int, int], input_hw: tuple[int, int]
) -> None:
    picture, detector_input = steps.preprocess(png(np.zeros((*size, 3), np.uint8)))
    assert picture.shape[:2] == size
    assert detector_input.shape[2:] == input_hw


@pytest.mark.parametrize("file", [b"", b"no picture", png(WHITE)[0][:100]])
def test_bytes_that_are_no_picture_are_refused(file: bytes) -> None:
    with pytest.raises(PictureError, match=r"damaged 640x480 picture|wanted a JPEG, PNG"):
        steps.preprocess(np.array([file], np.object_))


# Positions of text


def test_a_region_grows_by_its_area_and_perimeter() -> None:
    """40 x 10: area 400, perimeter 100, so 1.6 x 400 / 100 = 6.4 on each side."""
    (corners,), scores = steps.find_lines(text_map((20, 40, 60, 50)))
    expected_corners = [[13.6, 33.6], [66.4, 33.6], [66.4, 56.4], [13.6, 56.4]]
    np.testing.assert_allclose(corners, expected_corners, atol=1e-4)
    assert scores == pytest.approx([0.9])


@pytest.mark.parametrize("angle_deg", [-40, -12, 0, 12, 40])
def test_corners_of_a_turned_line_begin_at_its_top_left(angle_deg: float) -> None:
    probs = text_map()
    quad = cv2.boxPoints(((320, 240), (200, 30), angle_deg))
    cv2.fillPoly(probs, [quad.round().astype(np.int32)], 0.9)
    (corners,), _ = steps.find_lines(probs)
    right, down = corners[1] - corners[0], corners[3] - corners[0]
    assert np.degrees(np.arctan2(right[1], right[0])) == pytest.approx(angle_deg, abs=1)
    assert right[0] * down[1] - right[1] * down[0] > 0  # clockwise, y being downwards
    assert np.linalg.norm(right) > 3 * np.linalg.norm(down)


def quad(x0: int, y0: int) -> list[list[int]]:
    return [[x0, y0], [x0 + 90, y0], [x0 + 90, y0 + 30], [x0, y0 + 30]]


def test_level_lines_are_read_from_left_to_right() -> None:
    """The second row slopes by 6 pixels a line, 18 in all; the third begins 20 further down."""
    rows = (
        [quad(300, 5), quad(0, 6)],
        [quad(100 * number, 100 - 6 * number) for number in range(4)],
        [quad(0, 120)],
    )
    corners = np.array([*rows[2], *rows[0], *rows[1]], np.float32)
    assert steps.reading_order(corners).tolist() == [2, 1, 3, 4, 5, 6, 0]


def test_lines_come_in_order_and_in_pixels_of_the_picture() -> None:
    """The map is half the picture's size."""
    below, above = (40, 200, 140, 220), (300, 101, 400, 121)
    probs = text_map(below, above)[np.newaxis, np.newaxis]
    _, corners, scores, _ = steps.postprocess_0(np.zeros((960, 1280, 3), np.uint8), probs)
    np.testing.assert_allclose(corners.mean(axis=1), [[700, 222], [180, 420]])
    np.testing.assert_allclose(scores, 0.9, atol=1e-6)


def test_corners_of_text_at_the_edge_stay_in_the_picture() -> None:
    probs = text_map((0, 0, 100, 20), (539, 459, 639, 479))[np.newaxis, np.newaxis]
    _, (first, last), _, _ = steps.postprocess_0(WHITE, probs)
    assert first[0].tolist() == [0, 0]
    assert last[2].tolist() == [640, 480]


# The crops


def test_crops_are_padded_to_the_widest_and_say_how_far_they_go() -> None:
    """The 100 x 20 region grows by 13.33 on each side: 126.67 x 46.67, 130 wide at height 48."""
    probs = text_map((100, 100, 200, 120), (100, 200, 300, 220))
    crops, _, _, counts = steps.postprocess_0(WHITE, probs[np.newaxis, np.newaxis])
    width = round(48 * (100 + 80 / 3) / (20 + 80 / 3))
    assert crops.shape[:3] == (2, 3, 48)
    assert crops.dtype == np.float32
    assert np.all(crops[0, :, :, :width] == 1)
    assert np.all(crops[0, :, :, width:] == 0)
    assert np.all(crops[1] == 1)
    assert counts.tolist() == [-(-width // 8), -(-crops.shape[3] // 8)]


def test_without_text_a_blank_crop_travels_alone() -> None:
    crops, corners, scores, counts = steps.postprocess_0(WHITE, text_map()[np.newaxis, np.newaxis])
    assert crops.shape == (1, 3, 48, 48)
    assert not crops.any()
    assert [corners.shape, scores.shape, counts.shape] == [(0, 4, 2), (0,), (0,)]


# Text of a line


def test_repeats_merge_unless_a_blank_is_between_them() -> None:
    classes = np.array([0, 1, 1, 0, 1, 2, 2, 0], np.int32)
    probs = np.array([1, 0.75, 0.1, 1, 0.5, 0.25, 0.1, 1], np.float32)
    assert steps.best_path("\0ab", classes, probs) == ("aab", 0.5)


def test_of_the_blank_crop_nothing_is_told_whatever_was_read() -> None:
    none = (np.empty((0, 4, 2), np.float32), np.empty(0, np.float32), np.empty(0, np.int32))
    readings = np.ones((1, 6), np.int32), np.ones((1, 6), np.float32)
    assert records_of(steps.postprocess_1("\0a", *readings, *none)) == []


# The networks


def test_without_the_package_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match="pip install 'rapidocr"):
        networks.read("det")
