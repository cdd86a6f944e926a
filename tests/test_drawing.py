import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from orchestrator.drawing import READ, UNREAD, annotate, to_png
from orchestrator.picture_files import is_drawing
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
    read = annotate(WHITE, Plates((Plate((10, 80, 110, 110), text="A001AA77"),)))
    unread = annotate(WHITE, Plates((Plate((10, 80, 110, 110)),)))
    assert has(read, READ)
    assert not has(read, UNREAD)
    assert has(unread, UNREAD)


def test_a_label_at_the_top_edge_goes_below() -> None:
    drawn = annotate(WHITE, Plates((Plate((10, 0, 110, 20), text="A001AA77"),)))
    assert has(drawn[24:70], READ)


GRADIENT = np.arange(200 * 300 * 3, dtype=np.uint8).reshape(200, 300, 3)


def test_a_drawing_is_a_whole_png_file_without_loss() -> None:
    png = to_png(GRADIENT)
    assert np.array_equal(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR), GRADIENT)
    with Image.open(io.BytesIO(png)) as opened:
        assert np.array_equal(np.asarray(opened)[..., ::-1], GRADIENT)
        assert opened.text == {"Software": "orchestrator"}


def test_a_drawing_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "drawn.png"
    path.write_bytes(to_png(GRADIENT))
    assert is_drawing(path)


@pytest.mark.parametrize(
    "content", [b"", b"junk", cv2.imencode(".png", GRADIENT)[1].tobytes(), to_png(GRADIENT)[:50]]
)
def test_another_file_is_no_drawing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "photo.png"
    path.write_bytes(content)
    assert not is_drawing(path)


def test_what_is_no_file_is_no_drawing(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    assert not is_drawing(tmp_path / "folder.png")
    assert not is_drawing(tmp_path / "gone.png")
