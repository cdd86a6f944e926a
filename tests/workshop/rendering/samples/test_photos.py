"""Photos of plates, their troubles, and inexact frames round them."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.reading.affine_crops import corners_of
from workshop.rendering.camera import Quad, View
from workshop.rendering.country import russia
from workshop.rendering.samples.inexact_frames import frame_inside_box, jitter_box, jitter_frame
from workshop.rendering.samples.photos import HIDDEN_LEFT, HIDDEN_RIGHT, Photo, hide_end
from workshop.rendering.samples.troubles import DARK, SMALL, SMEARED, TROUBLES, add_trouble

QUAD = np.array([[100.0, 100], [300, 120], [300, 160], [100, 140]])


@pytest.fixture
def photo() -> Photo:
    """A white plate, aslant, before grass."""
    picture = np.full((260, 400, 3), (40, 160, 70), np.uint8)
    cv2.fillConvexPoly(picture, QUAD.astype(np.int32), (250, 250, 250))
    return Photo(picture, QUAD, "A001AA77", "ru_car")


@pytest.mark.parametrize("seed", range(20))
def test_an_end_of_the_plate_is_hidden_as_far_as_its_text(photo: Photo, seed: int) -> None:
    before = photo.picture.copy()
    hidden = hide_end(np.random.default_rng(seed), photo)
    assert (photo.picture == before).all()
    middle = [hidden[round(120 + (x - 100) / 10), x] for x in range(100, 300)]
    changed_shares = np.flatnonzero((np.array(middle) != 250).any(axis=1)) / 200
    is_left_hidden = changed_shares.mean() < 0.5
    if is_left_hidden:
        assert HIDDEN_LEFT[0] - 0.01 <= changed_shares.max() <= HIDDEN_LEFT[1] + 0.01
    else:
        assert HIDDEN_RIGHT[0] - 0.01 <= changed_shares.min() <= HIDDEN_RIGHT[1] + 0.01


def test_what_hides_it_is_a_post_or_all_beyond(photo: Photo) -> None:
    corners = []
    for seed in range(20):
        hidden = hide_end(np.random.default_rng(seed), photo)
        is_changed = (hidden != photo.picture).any(axis=2)
        corners.append(bool(is_changed[110, [0, -1]].any()))
    assert {True, False} == {*corners}


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
    angles_deg = [np.rad2deg(np.arctan2(*frame[::-1, 0])) for frame in frames]
    assert np.mean(angles_deg) == pytest.approx(degrees, abs=0.5)
    assert 1 < np.std(angles_deg) < 2
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


PICTURE = np.full((280, 640, 3), 120, np.uint8)
PICTURE[84:196, 60:580] = np.asarray(russia().plate_of("A123BC77").picture[:112, :520])
TROUBLED = np.array([[60.0, 84], [580, 84], [580, 196], [60, 196]])


def change(trouble: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return add_trouble(np.random.default_rng(seed), PICTURE, TROUBLED, trouble)


@pytest.mark.parametrize("seed", range(4))
def test_a_photo_has_the_trouble_that_is_asked_for(seed: int) -> None:
    width = {name: float(np.ptp(change(name, seed)[1][:, 0])) for name in TROUBLES}
    assert 26 < width[SMALL] < 57 < 60 <= width[SMEARED] < 162
    dark, smeared = change(DARK, seed)[0], change(SMEARED, seed)[0]
    assert dark.mean() < 0.5 * PICTURE.mean() < 0.9 * smeared.mean()
    across, down = (np.abs(np.diff(smeared.astype(int), axis=axis)).mean() for axis in (1, 0))
    assert across < 1.5 * down


def test_a_plate_that_is_small_already_is_not_enlarged() -> None:
    small = PICTURE[::16, ::16].copy()
    picture, quad = add_trouble(np.random.default_rng(0), small, TROUBLED / 16, SMALL)
    assert picture.shape == small.shape
    assert np.array_equal(quad, TROUBLED / 16)
    assert PICTURE[150, 70:570].std() > 40  # arguments are not changed
