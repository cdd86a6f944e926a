from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.errors import DataError
from workshop.benchmarks.pictures import read, render


def test_a_rendered_picture_is_what_its_file_decodes_to_every_time() -> None:
    picture = render(1, (160, 120))
    assert (picture.name, picture.plates) == ("1 plate", 1)
    decoded_bgr = cv2.imdecode(np.frombuffer(picture.file_bytes, np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(picture.bgr, decoded_bgr)
    assert picture.file_bytes == render(1, (160, 120)).file_bytes


def test_files_are_named_by_their_stems(tmp_path: Path) -> None:
    path = tmp_path / "car.png"
    cv2.imwrite(str(path), np.full((40, 60, 3), 7, np.uint8))
    (picture,) = read([path])
    assert (picture.name, picture.plates, picture.bgr.shape) == ("car", None, (40, 60, 3))
    assert picture.file_bytes == path.read_bytes()


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="file: wanted pictures of different names, got car twice"):
        read([Path("a/car.jpg"), Path("b/car.png")])


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "car.jpg").write_bytes(b"junk")
    with pytest.raises(DataError, match=r"car\.jpg: encoded_image: wanted a JPEG"):
        read([tmp_path / "car.jpg"])
    with pytest.raises(DataError, match=r"bus\.jpg: cannot be read: No such"):
        read([tmp_path / "bus.jpg"])
