import cv2
import numpy as np
import pytest

from orchestrator.errors import PictureError
from plate_cameras.frames import Frame, Xyxy
from plate_cameras.tracking.plate_pixels import PlatePixels

WIDTH, HEIGHT = 640, 480
BOX: Xyxy = (260.0, 300.0, 380.0, 326.0)


@pytest.fixture(scope="module")
def street() -> np.ndarray:
    """A grey picture with a plate in the box."""
    picture = np.random.default_rng(2).integers(60, 90, (HEIGHT, WIDTH, 3), np.uint8)
    x0, y0, x1, y1 = map(int, BOX)
    cv2.rectangle(picture, (x0, y0), (x1, y1), (230, 230, 230), -1)
    cv2.putText(picture, "A123BC77", (x0 + 3, y1 - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (9, 9, 9), 2)
    return picture


def make_frame(picture: np.ndarray) -> Frame:
    _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return Frame("gate", 7, 0.0, "wall", jpeg.tobytes(), (picture.shape[1], picture.shape[0]))


def decode(jpeg: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)


def test_a_smear_makes_a_plate_less_sharp(street: np.ndarray) -> None:
    frames = [make_frame(cv2.blur(street, (length, 1))) for length in (1, 21, 61)]
    sharpness = [PlatePixels().measure(frame, [BOX])[0] for frame in frames]
    assert 1 >= sharpness[0] > sharpness[1] > sharpness[2] >= 0


def test_without_plates_no_frame_is_decoded() -> None:
    broken_frame = Frame("gate", 7, 0.0, "wall", b"no picture", (10, 10))
    assert PlatePixels().measure(broken_frame, []) == []
    with pytest.raises(PictureError, match="frame 7 of gate: wanted a JPEG file"):
        PlatePixels().measure(broken_frame, [BOX])


def test_a_crop_is_the_plate_with_a_margin(street: np.ndarray) -> None:
    crop = decode(PlatePixels().crop(make_frame(street), BOX, []))
    margin = round(0.5 * (BOX[3] - BOX[1]))
    x0, y0 = int(BOX[0]) - margin, int(BOX[1]) - margin
    expected_crop = street[y0 : round(BOX[3]) + margin, x0 : round(BOX[2]) + margin]
    assert crop.shape == expected_crop.shape
    assert abs(crop.astype(float) - expected_crop).mean() < 6


def test_another_plate_in_a_crop_is_hidden(street: np.ndarray) -> None:
    above = (BOX[0], BOX[1] - 12, BOX[2], BOX[1] - 4)
    frame = make_frame(street)
    crops = [decode(PlatePixels().crop(frame, BOX, others)) for others in ([], [above])]
    margin = round(0.5 * (BOX[3] - BOX[1]))
    rows = slice(margin - 11, margin - 5)
    assert abs(crops[1][rows, margin:-margin].astype(int) - 128).max() < 12
    assert abs(crops[0][rows, margin:-margin].astype(int) - 128).max() > 20
    plates = [crop[margin + 8 : -margin].astype(float) for crop in crops]
    assert abs(plates[0] - plates[1]).mean() < 2


@pytest.mark.parametrize(
    "edge",
    [
        pytest.param((-5.0, -5.0, 20.0, 10.0), id="top-left"),
        pytest.param((WIDTH - 20.0, HEIGHT - 10.0, WIDTH + 9.0, HEIGHT + 9.0), id="bottom-right"),
        pytest.param((30.0, 30.0, 30.0, 30.0), id="no-area"),
    ],
)
def test_a_box_at_the_edge_is_clipped(street: np.ndarray, edge: Xyxy) -> None:
    frame = make_frame(street)
    assert PlatePixels().crop(frame, edge, []).startswith(b"\xff\xd8")
    assert 0 <= PlatePixels().measure(frame, [edge])[0] <= 1
