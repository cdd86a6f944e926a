import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from orchestrator.imaging.drawing import READ, UNREAD, annotate, straighten, to_jpeg, to_png
from orchestrator.imaging.files import CROP, is_crop, is_drawing
from orchestrator.plates import Plate, Plates

WHITE = np.full((200, 300, 3), 255, np.uint8)


def has(picture: np.ndarray, bgr: tuple[int, int, int]) -> bool:
    return bool((picture == bgr).all(axis=2).any())


def test_no_plates_leave_the_picture_as_it_is() -> None:
    assert np.array_equal(annotate(WHITE, Plates()), WHITE)


def test_the_picture_given_is_left_alone() -> None:
    annotate(WHITE, Plates((Plate((10, 80, 110, 110), text="A001AA77"),)))
    assert (WHITE == 255).all()


def test_plates_are_coloured_by_whether_they_were_read() -> None:
    with_text = annotate(WHITE, Plates((Plate((10, 80, 110, 110), text="A001AA77"),)))
    without_text = annotate(WHITE, Plates((Plate((10, 80, 110, 110)),)))
    assert has(with_text, READ)
    assert not has(with_text, UNREAD)
    assert has(without_text, UNREAD)


def test_the_box_and_the_corners_are_drawn() -> None:
    aslant = ((20, 100), (100, 60), (100, 90), (20, 130))
    drawing = annotate(WHITE, Plates((Plate((20, 60, 100, 130), text="A001AA77", corners=aslant),)))
    edge, box = drawing[78:83, 60], drawing[128:133, 60]
    assert has(edge[None], READ)
    assert has(box[None], READ)


def plate_of(corners: list[tuple[float, float]]) -> tuple[np.ndarray, Plate]:
    """Return a picture of a white plate with a black left half, on grey, and the plate's box."""
    picture = np.full((300, 400, 3), 128, np.uint8)
    outline = np.array(corners)
    middle = ((outline[0] + outline[1]) / 2, (outline[3] + outline[2]) / 2)
    cv2.fillConvexPoly(picture, outline.round().astype(np.int32), (255, 255, 255))
    left = np.array([outline[0], middle[0], middle[1], outline[3]]).round().astype(np.int32)
    cv2.fillConvexPoly(picture, left, (0, 0, 0))
    return picture, Plate((0, 0, 400, 300), corners=tuple(map(tuple, corners)))


@pytest.mark.parametrize(
    "corners",
    [
        pytest.param([(100, 100), (200, 100), (200, 120), (100, 120)], id="upright"),
        pytest.param([(100, 150), (186.6, 100), (196.6, 117.3), (110, 167.3)], id="turned"),
        pytest.param([(200, 120), (100, 120), (100, 100), (200, 100)], id="upside-down"),
    ],
)
def test_a_plate_is_cut_out_upright_with_room_round_it(corners) -> None:
    crop = straighten(*plate_of(corners))
    height, width = crop.shape[:2]
    # 100 x 20 px, and 8 % of the width, 25 % of the height more at each side.
    assert (width, height) == (116, 30)
    assert crop[15, 15:50].max() < 90
    assert crop[15, 70:100].min() > 200
    assert abs(int(crop[1, 58, 0]) - 128) < 10


def test_a_plate_at_the_edge_of_the_picture_is_cut_out_whole() -> None:
    crop = straighten(np.full((20, 40, 3), 200, np.uint8), Plate((0, 0, 40, 20)))
    assert crop.shape == (30, 46, 3)
    assert (crop == 200).all()


def test_a_plate_without_extent_is_a_pixel() -> None:
    assert straighten(WHITE, Plate((5, 5, 5, 5))).shape[:2] == (2, 1)


def test_a_label_at_the_top_edge_goes_below() -> None:
    drawing = annotate(WHITE, Plates((Plate((10, 0, 110, 20), text="A001AA77"),)))
    assert has(drawing[24:70], READ)


GRADIENT = np.arange(200 * 300 * 3, dtype=np.uint8).reshape(200, 300, 3)


def test_a_drawing_is_a_whole_png_file_without_loss() -> None:
    png = to_png(GRADIENT)
    assert np.array_equal(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR), GRADIENT)
    with Image.open(io.BytesIO(png)) as picture:
        assert np.array_equal(np.asarray(picture)[..., ::-1], GRADIENT)
        assert picture.text == {"Software": "orchestrator"}


@pytest.mark.parametrize(("suffix", "encode"), [(".png", to_png), (".jpg", to_jpeg)])
def test_our_drawings_and_crops_are_recognised(tmp_path: Path, suffix: str, encode) -> None:
    drawing, crop = tmp_path / f"drawn{suffix}", tmp_path / f"crop{suffix}"
    drawing.write_bytes(encode(GRADIENT))
    crop.write_bytes(encode(GRADIENT, CROP))
    assert [is_drawing(drawing), is_crop(drawing)] == [True, False]
    assert [is_drawing(crop), is_crop(crop)] == [False, True]


def test_a_jpeg_drawing_is_one_for_others_too() -> None:
    jpeg = to_jpeg(WHITE)
    pixels = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(pixels, WHITE)
    with Image.open(io.BytesIO(jpeg)) as picture:
        assert picture.info["comment"] == b"orchestrator"
        assert picture.info["jfif_version"] == (1, 1)


@pytest.mark.parametrize(
    "content", [b"", b"junk", cv2.imencode(".png", GRADIENT)[1].tobytes(), to_png(GRADIENT)[:50]]
)
def test_another_file_is_no_drawing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "photo.png"
    path.write_bytes(content)
    assert not is_drawing(path)


def test_a_path_without_a_file_is_no_drawing(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    assert not is_drawing(tmp_path / "folder.png")
    assert not is_drawing(tmp_path / "gone.png")
