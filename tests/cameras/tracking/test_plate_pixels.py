import cv2
import numpy as np
import pytest

from orchestrator.cameras.frames import Frame
from orchestrator.cameras.tracking.plate_pixels import JpegPixels, measure_sharpness
from orchestrator.errors import PictureError
from workshop.rendering.scenery import scene

STREET = scene(["A123BC77"], seed=2)
BOX = tuple(map(float, STREET.xyxy[0]))
HEIGHT, WIDTH = STREET.picture.shape[:2]


def make_frame(picture: np.ndarray) -> Frame:
    _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return Frame("gate", 7, 0.0, "wall", jpeg.tobytes(), (picture.shape[1], picture.shape[0]))


def decode(jpeg: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)


def smear(length_px: int) -> np.ndarray:
    return cv2.blur(STREET.picture, (length_px, 1))


def test_a_smear_makes_a_plate_less_sharp() -> None:
    frames = [make_frame(smear(length)) for length in (1, 21, 61)]
    sharpness = [JpegPixels().measure(frame, [BOX])[0] for frame in frames]
    assert 1 >= sharpness[0] > sharpness[1] > sharpness[2] >= 0


def test_a_grey_area_has_no_sharpness() -> None:
    assert measure_sharpness(np.full((20, 90), 128, np.uint8)) == 0.0


def test_without_plates_no_frame_is_decoded() -> None:
    broken = Frame("gate", 7, 0.0, "wall", b"no picture", (10, 10))
    assert JpegPixels().measure(broken, []) == []
    with pytest.raises(PictureError, match="frame 7 of gate: wanted a JPEG file"):
        JpegPixels().measure(broken, [BOX])


def test_a_crop_is_the_plate_with_a_margin() -> None:
    crop = decode(JpegPixels().crop(make_frame(STREET.picture), BOX, []))
    margin = round(0.5 * (BOX[3] - BOX[1]))
    x0, y0 = int(BOX[0]) - margin, int(BOX[1]) - margin
    wanted = STREET.picture[y0 : round(BOX[3]) + margin, x0 : round(BOX[2]) + margin]
    assert crop.shape == wanted.shape
    assert abs(crop.astype(float) - wanted).mean() < 6


def test_another_plate_in_a_crop_is_hidden() -> None:
    above = (BOX[0], BOX[1] - 20, BOX[2], BOX[1] - 8)
    frame = make_frame(STREET.picture)
    crops = [decode(JpegPixels().crop(frame, BOX, others)) for others in ([], [above])]
    margin = round(0.5 * (BOX[3] - BOX[1]))
    rows = slice(margin - 18, margin - 10)
    assert abs(crops[1][rows, margin:-margin].astype(int) - 128).max() < 12
    assert abs(crops[0][rows, margin:-margin].astype(int) - 128).max() > 20
    plates = [crop[margin + 8 : -margin].astype(float) for crop in crops]
    assert abs(plates[0] - plates[1]).mean() < 2


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((-5.0, -5.0, 20.0, 10.0), id="top-left"),
        pytest.param((WIDTH - 20.0, HEIGHT - 10.0, WIDTH + 9.0, HEIGHT + 9.0), id="bottom-right"),
        pytest.param((30.0, 30.0, 30.0, 30.0), id="no-area"),
    ],
)
def test_a_box_at_the_edge_is_clipped(box: tuple[float, float, float, float]) -> None:
    frame = make_frame(STREET.picture)
    assert JpegPixels().crop(frame, box, []).startswith(b"\xff\xd8")
    assert 0 <= JpegPixels().measure(frame, [box])[0] <= 1
