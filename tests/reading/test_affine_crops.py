"""Positions of crops in a picture, and cuts along turned plates."""

import cv2
import numpy as np
import pytest
import torch

from orchestrator.reading.affine_crops import (
    compose,
    corners_of,
    cut_frame,
    frames_around,
    frames_of,
    grow_frames,
    map_region,
    sizes_of,
    tilts_of,
    unfold_at,
)
from orchestrator.reading.crops import crop_plates, normalize_crops, resize_crop

IDENTITY = np.array([[[1.0, 0, 0], [0, 1, 0]]], np.float32)
BOX = (10, 20, 110, 50)


def test_the_frame_of_a_box_has_its_corners() -> None:
    corners = corners_of(frames_of([BOX]))
    assert corners.tolist() == [[[10, 20], [110, 20], [110, 50], [10, 50]]]
    assert sizes_of(frames_of([BOX])).tolist() == [[100, 30]]


def test_the_identity_leaves_a_frame() -> None:
    assert np.array_equal(compose(frames_of([BOX]), IDENTITY), frames_of([BOX]))


def test_frames_follow_theta() -> None:
    # Half as wide, shifted right by a quarter of the box, sheared down to the right.
    theta = np.array([[[0.5, 0.0, 0.5], [0.2, 1.0, 0.0]]])
    corners = corners_of(compose(frames_of([(0, 0, 100, 100)]), theta))
    assert np.allclose(corners, np.array([[[50.0, -10], [100, 10], [100, 110], [50, 90]]]))


def test_the_frame_round_the_corners_of_a_frame_is_that_frame() -> None:
    theta = np.array([[[0.7, 0.1, 0.2], [0.3, 0.9, -0.1]]])
    frames = compose(frames_of([BOX]), theta)
    assert np.allclose(frames_around(corners_of(frames)), frames, atol=1e-5)


def test_a_frame_grows_about_its_middle() -> None:
    (corners,) = corners_of(grow_frames(frames_of([BOX]), (0.1, 0.5))).tolist()
    assert corners == [
        pytest.approx(corner, abs=1e-4) for corner in ([0, 5], [120, 5], [120, 65], [0, 65])
    ]


@pytest.mark.parametrize("angle", [-20.0, 0.0, 15.0])
def test_the_tilt_is_that_of_the_edges(angle: float) -> None:
    assert tilts_of(_turned(angle)).item() == pytest.approx(abs(angle), abs=1e-3)


def test_a_sheared_frame_is_tilted_by_its_columns() -> None:
    theta = np.array([[[1.0, 0.3, 0.0], [0.0, 1.0, 0.0]]])
    square = compose(frames_of([(0, 0, 100, 100)]), theta)
    assert tilts_of(square).item() == pytest.approx(np.degrees(np.arctan(0.3)), abs=1e-3)


@pytest.mark.parametrize("lines", [1, 2])
def test_an_upright_frame_is_cut_as_its_box_is(lines: int) -> None:
    picture = _noise(200, 300)
    upright = cut_frame(picture, frames_of([BOX])[0], lines)
    boxes = np.array([BOX], np.float32)
    assert torch.allclose(upright, crop_plates(picture, boxes, (0, 0), lines=lines), atol=0.01)


def test_a_small_plate_between_pixels_keeps_its_contrast() -> None:
    """Samples at the plate's own resolution would lie halfway between pixels: all 120."""
    columns = np.where(np.arange(60) % 2 < 1, 40, 200).astype(np.uint8)
    picture = torch.from_numpy(np.tile(columns[None, :, None], (20, 1, 3)))
    cut = cut_frame(picture, frames_of([(10.5, 5.0, 50.5, 15.0)])[0])
    middle = cut[0, 0, 12, 10:-10] * 128 + 127.5
    assert middle.min() < 50
    assert middle.max() > 190


@pytest.mark.parametrize("angle", [-20.0, 12.0])
def test_a_turned_plate_is_cut_upright(angle: float) -> None:
    flat = np.repeat(np.linspace(20, 230, 94, dtype=np.uint8)[None], 24, axis=0)
    middle = (150.0, 100.0)
    turn = cv2.getRotationMatrix2D((46.5, 11.5), -angle, 1.0)
    turn[:, 2] += np.array(middle) - (46.5, 11.5)
    scene = cv2.warpAffine(np.dstack([flat] * 3), turn, (300, 200))
    cut = cut_frame(torch.from_numpy(scene), _turned(angle, middle)[0])[0, 0]
    expected_cut = (torch.from_numpy(flat).float() - 127.5) / 128
    assert (cut - expected_cut)[2:-2, 2:-2].abs().max() < 0.06


@pytest.mark.parametrize("angle", [-40, 9, 35])
@pytest.mark.parametrize("middle", [(40, 35), (262, 36), (38, 186), (264, 185), (150, 110)])
def test_no_pixel_of_a_turned_plate_is_left_out(angle: float, middle: tuple[float, float]) -> None:
    """A cut over an edge is that from the same picture with its edges drawn out."""
    picture, frame = _noise(220, 300), _turned(angle, middle)[0]
    wide = cv2.copyMakeBorder(picture.numpy(), *(64,) * 4, cv2.BORDER_REPLICATE)
    moved_frame = frame + np.float32([[0.0, 0, 64], [0, 0, 64]])
    expected_cut = cut_frame(torch.from_numpy(wide), moved_frame)
    torch.testing.assert_close(cut_frame(picture, frame), expected_cut, atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("box", "region_xyxy"),
    [
        pytest.param((110, 20, 210, 50), (109, 19, 211, 51), id="inside"),
        pytest.param((110.4, 20.6, 210.2, 50.3), (109, 19, 212, 52), id="between pixels"),
        pytest.param((-9, -7, 40, 30), (0, 0, 41, 31), id="over the upper left corner"),
        pytest.param((250, 170, 320, 230), (249, 169, 300, 200), id="over the lower right corner"),
        pytest.param((400, 20, 450, 30), (299, 19, 300, 31), id="right of the picture"),
        pytest.param((-50, 20, -40, 30), (0, 19, 1, 31), id="left of the picture"),
        pytest.param((20, -50, 30, -40), (19, 0, 31, 1), id="above the picture"),
    ],
)
def test_no_more_of_the_picture_is_sampled_than_a_pixel_round_the_frame(
    box: tuple[float, float, float, float], region_xyxy: tuple[int, int, int, int]
) -> None:
    picture = _noise(200, 300)
    region, _ = map_region(picture, frames_of([box])[0])
    x0, y0, x1, y1 = region_xyxy
    assert torch.equal(region, picture[y0:y1, x0:x1])


@pytest.mark.parametrize(
    ("rows", "share", "upper", "lower"),
    [
        pytest.param(40, 0.25, slice(0, 10), slice(10, 40), id="at a quarter"),
        pytest.param(2, 0.4, slice(0, 1), slice(1, 2), id="of two rows"),
        pytest.param(3, 0.1, slice(0, 1), slice(0, 3), id="above the first row"),
        pytest.param(3, 1.0, slice(0, 3), slice(2, 3), id="below the last row"),
    ],
)
def test_a_plate_is_unfolded_at_a_row_and_neither_line_is_empty(
    rows: int, share: float, upper: slice, lower: slice
) -> None:
    plate = _noise(rows, 60)
    halves = [resize_crop(plate[line], (47, 24)) for line in (upper, lower)]
    assert torch.equal(unfold_at(plate, share), normalize_crops(torch.cat(halves, 3)))


def test_outside_the_picture_are_its_outermost_pixels() -> None:
    picture = torch.full((40, 60, 3), 200, dtype=torch.uint8)
    for box in ((-30, -20, 20, 10), (100, 100, 200, 130)):
        cut = cut_frame(picture, frames_of([box])[0])
        assert cut.shape == (1, 3, 24, 94)
        assert torch.allclose(cut, torch.tensor((200 - 127.5) / 128))


def test_a_frame_without_size_is_cut_all_the_same() -> None:
    none = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 5.0]])
    assert cut_frame(_noise(20, 20), none).isfinite().all()


def _turned(angle: float, middle: tuple[float, float] = (50, 50)) -> np.ndarray:
    """Return the frame [1, 2, 3] of a crop of 94 x 24 turned clockwise by so many degrees."""
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    x, y = middle
    return np.array([[[47 * cosine, -12 * sine, x], [47 * sine, 12 * cosine, y]]], np.float32)


def _noise(height: int, width: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(0, 255, (height, width, 3), dtype=torch.uint8)
