"""Geometry of any boxes, frames and sizes, including invalid outputs of networks."""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from orchestrator.detection.boxes import area, clip, grow, iou, nms
from orchestrator.detection.letterbox import letterbox
from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.tiles import TILE_WH, tiles_around
from orchestrator.errors import ModelError
from orchestrator.pipeline import recognize
from orchestrator.plates import Plates
from orchestrator.reading.affine_crops import corners_of, cut_frame, frames_around, frames_of
from orchestrator.reading.crops import crop_boxes, crop_plates
from tests.fuzzing.profiles import brief, quick
from tests.scripted_networks import ScriptedInfer, picture, rows

SHORT, LONG = st.integers(1, 300), st.integers(1, 5000)
SIZES = st.tuples(SHORT, LONG) | st.tuples(LONG, SHORT)
"""Width and height of a picture. One side is short, so that there are few pixels."""
COORDINATES = st.floats(-6000, 6000, width=32)
BOXES = st.lists(st.tuples(*[COORDINATES] * 4), max_size=8)
FLOATS = st.floats(width=32)
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def boxes_of(boxes: list[tuple[float, ...]]) -> np.ndarray:
    return np.array(boxes, np.float32).reshape(-1, 4)


def blank(size_wh: tuple[int, int]) -> Tensor:
    return torch.zeros(size_wh[1], size_wh[0], 3, dtype=torch.uint8)


def ordered(boxes: list[tuple[float, ...]]) -> np.ndarray:
    xyxy = boxes_of(boxes)
    first, second = xyxy[:, :2], xyxy[:, 2:]
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)), 1)


class TestBoxes:
    @quick
    @given(st.lists(st.tuples(*[FINITE] * 4), max_size=8), SIZES)
    def test_clipped_boxes_lie_in_the_picture_and_stay(self, boxes, size_wh) -> None:
        clipped = clip(boxes_of(boxes), size_wh)
        assert (clipped >= 0).all()
        assert (clipped <= np.array([*size_wh, *size_wh])).all()
        assert np.array_equal(clip(clipped, size_wh), clipped)

    @quick
    @given(BOXES, st.floats(0, 2))
    def test_grown_boxes_hold_those_they_come_from(self, boxes, margin: float) -> None:
        before = ordered(boxes)
        after = grow(before, (margin, margin))
        assert (after[:, :2] <= before[:, :2]).all()
        assert (after[:, 2:] >= before[:, 2:]).all()

    @quick
    @given(BOXES, BOXES)
    def test_overlap_is_a_part_and_the_same_both_ways(self, first, second) -> None:
        overlap = iou(boxes_of(first), boxes_of(second))
        assert ((overlap >= 0) & (overlap <= 1 + 1e-5)).all()
        assert np.allclose(overlap, iou(boxes_of(second), boxes_of(first)).T, atol=1e-6)

    @quick
    @given(BOXES)
    def test_a_box_with_an_area_overlaps_itself_whole(self, boxes) -> None:
        whole = ordered(boxes)
        solid = whole[area(whole) > 1e-20]
        assert np.allclose(iou(solid, solid).diagonal(), np.ones(len(solid)), atol=1e-5)

    @quick
    @given(st.lists(st.tuples(*[COORDINATES] * 4, st.floats(0, 1, width=32)), max_size=12),
           st.floats(0, 1))  # fmt: skip
    def test_suppression_keeps_the_best_and_suppresses_no_more_when_repeated(
        self, scored, threshold: float
    ) -> None:
        detections = np.array(scored, np.float32).reshape(-1, 5)
        xyxy, scores = detections[:, :4], detections[:, 4]
        kept_indices = nms(xyxy, scores, threshold)
        assert scores[kept_indices].tolist() == sorted(scores[kept_indices].tolist(), reverse=True)
        assert scores[kept_indices[:1]].tolist() == sorted(scores.tolist(), reverse=True)[:1]
        assert nms(xyxy[kept_indices], scores[kept_indices], threshold) == [
            *range(len(kept_indices))
        ]


class TestPictures:
    @quick
    @given(SIZES, st.integers(1, 12), BOXES)
    def test_a_letterbox_is_undone(self, size_wh, strides: int, boxes) -> None:
        box = letterbox(blank(size_wh), 32 * strides)
        height, width = box.net.shape[1:3]
        assert height % 32 == width % 32 == 0
        assert max(height, width) <= 32 * strides
        xyxy = boxes_of(boxes)
        assert np.allclose(box.to_source(box.to_net(xyxy)), xyxy, atol=1e-2, rtol=1e-4)

    @quick
    @given(SIZES, st.integers(1, 12))
    def test_a_whole_picture_lies_within_its_letterbox(self, size_wh, strides: int) -> None:
        box = letterbox(blank(size_wh), 32 * strides)
        x0, y0, x1, y1 = box.to_net(np.array([[0.0, 0, *size_wh]]))[0].tolist()
        assert min(x0, y0) >= 0
        assert x1 <= box.net.shape[2] + 0.5
        assert y1 <= box.net.shape[1] + 0.5

    @brief
    @given(SIZES, st.lists(st.tuples(*[FINITE] * 4), max_size=4))
    def test_crops_of_any_box_have_a_pixel_and_lie_in_the_picture(self, size_wh, boxes) -> None:
        xyxy = clip(boxes_of(boxes), size_wh)
        crop_xyxy = crop_boxes(blank(size_wh), xyxy)
        assert all(0 <= x0 < x1 <= size_wh[0] and 0 <= y0 < y1 <= size_wh[1]
                   for x0, y0, x1, y1 in crop_xyxy)  # fmt: skip
        crops = crop_plates(blank(size_wh), xyxy)
        assert crops.shape == (len(boxes), 3, 24, 94)
        assert crops.isfinite().all()

    @quick
    @given(st.tuples(LONG, LONG), BOXES, st.floats(0.01, 1))
    def test_tiles_lie_in_the_picture_as_large_as_they_can_be(self, size_wh, boxes, scale) -> None:
        xyxy = clip(ordered(boxes), size_wh)
        detections = Detections(xyxy, np.full(len(xyxy), 0.1))
        tile_wh = tuple(map(min, TILE_WH, size_wh))
        assert all((x1 - x0, y1 - y0) == tile_wh and x0 >= 0 and y0 >= 0
                   and x1 <= size_wh[0] and y1 <= size_wh[1]
                   for x0, y0, x1, y1 in tiles_around(detections, scale, size_wh))  # fmt: skip


class TestFrames:
    @quick
    @given(st.lists(st.tuples(*[COORDINATES] * 6), max_size=4))
    def test_frames_come_back_from_their_corners(self, numbers) -> None:
        frames = np.array(numbers, np.float32).reshape(-1, 2, 3)
        assert np.allclose(frames_around(corners_of(frames)), frames, atol=1e-3)

    @quick
    @given(st.tuples(*[st.integers(-9999, 9999)] * 4))
    def test_corners_of_an_upright_box_are_its_own(self, box) -> None:
        x0, y0, x1, y1 = box
        (corners,) = corners_of(frames_of([box])).tolist()
        assert corners == [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]

    @brief
    @given(SIZES, st.tuples(*[st.floats(-1e6, 1e6, width=32)] * 6), st.sampled_from([1, 2]))
    def test_any_frame_can_be_cut(self, size_wh, numbers, lines: int) -> None:
        frame = np.array(numbers, np.float32).reshape(2, 3)
        crop = cut_frame(blank(size_wh), frame, lines)
        assert np.allclose(cut_frame(blank(size_wh).numpy(), frame, lines), crop)
        assert crop.shape == (1, 3, 24, 94)
        assert crop.isfinite().all()


def answer(infer: ScriptedInfer) -> Plates | None:
    """Return the plates from invalid network outputs; None if a network is named as the cause."""
    try:
        return recognize(picture(), infer)
    except ModelError:
        return None


def is_sane(plates: Plates) -> bool:
    numbers = [number for plate in plates
               for number in (*plate.xyxy, plate.detection_score, plate.text_score,
                              *(side for corner in plate.corners for side in corner))]  # fmt: skip
    return all(map(math.isfinite, numbers))


class TestNetworksGoneWrong:
    @brief
    @given(st.lists(st.tuples(*[FLOATS] * 5), max_size=5))
    def test_a_detectors_rows_become_plates_or_its_failure(self, detections) -> None:
        plates = answer(ScriptedInfer(rows(*detections)))
        assert plates is None or is_sane(plates)

    @brief
    @given(st.tuples(*[FLOATS] * 6))
    def test_any_theta_becomes_corners_or_the_rectifiers_failure(self, numbers) -> None:
        theta = torch.tensor(numbers).reshape(2, 3)
        plates = answer(ScriptedInfer(rows((100, 100, 200, 125, 0.9)), ("A001AA",), theta=theta))
        assert plates is None or is_sane(plates)

    @brief
    @given(st.lists(FLOATS, min_size=2, max_size=2))
    def test_any_logits_become_texts_or_the_readers_failure(self, logits) -> None:
        box = (100, 100, 200, 125, 0.9)
        infer = ScriptedInfer(rows(box, (300, 300, 400, 325, 0.8)), ("A001AA",) * 2)
        infer.logits = tuple(logits)
        plates = answer(infer)
        assert plates is None or is_sane(plates)
