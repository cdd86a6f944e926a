"""Boxes and frames with the errors that the detector and the passes of reading make."""

import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.reading.affine_crops import corners_of
from workshop.rendering.camera import Quad, View
from workshop.rendering.samples.inexact_frames import frame_inside_box, jitter_box, jitter_frame

MANY = 200


def plate(degrees: float, lines: int) -> Quad:
    """Return the corners of a plate that is turned clockwise, 200 pixels wide."""
    proportion = 1.5 if lines == 2 else 4.6
    return View(0, 0, degrees, 200).quad(proportion) + 300


def errors_of(boxes: NDArray[np.float64], quad: Quad) -> NDArray[np.float64]:
    """Return the errors of the boxes' four sides, as shares of the plate's width and height."""
    low, high = quad.min(axis=0), quad.max(axis=0)
    true, size = np.concatenate([low, high]), np.tile(high - low, 2)
    return (boxes - true) / size


@pytest.mark.parametrize(
    ("lines", "least", "most"),
    [pytest.param(1, 0.08, 0.5, id="one line"), pytest.param(2, 0.04, 0.25, id="two lines")],
)
def test_the_detector_box_is_round_the_plate_and_never_exact(
    lines: int, least: float, most: float
) -> None:
    rng, quad = np.random.default_rng(1), plate(4, lines)
    errors = errors_of(np.array([jitter_box(rng, quad, lines) for _ in range(MANY)]), quad)
    spread = np.abs(errors).max(axis=1)
    assert least < np.median(spread)
    assert np.percentile(spread, 95) < most
    assert (np.median(errors, axis=0) * [-1, -1, 1, 1] > 0).all()  # it has room more often than not


@pytest.mark.parametrize("degrees", [-30, -6, 0, 10, 25])
def test_a_frame_by_the_angle_in_a_box_is_turned_as_its_plate(degrees: int) -> None:
    rng, quad = np.random.default_rng(2), plate(degrees, lines=2)
    frames = [frame_inside_box(rng, quad) for _ in range(MANY)]
    found = [np.rad2deg(np.arctan2(*frame[::-1, 0])) for frame in frames]
    assert np.mean(found) == pytest.approx(degrees, abs=0.5)
    assert 1 < np.std(found) < 2
    corners = corners_of(np.stack(frames))
    off = np.linalg.norm(corners - quad, axis=2).mean(axis=1) / 200
    assert 0.02 < np.median(off) < 0.12


@pytest.mark.parametrize("lines", [1, 2])
def test_a_frame_of_stn_is_round_the_plate_with_a_margin(lines: int) -> None:
    rng, quad = np.random.default_rng(3), plate(4, lines)
    frames = np.stack([jitter_frame(rng, quad, lines) for _ in range(MANY)])
    corners = corners_of(frames)
    middles, sizes = corners.mean(axis=1), np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    assert middles.mean(axis=0) == pytest.approx(quad.mean(axis=0), abs=3)
    assert 1.05 < np.median(sizes) / np.linalg.norm(quad[1] - quad[0]) < 1.2
    assert np.linalg.norm(corners - quad, axis=2).min() > 0
