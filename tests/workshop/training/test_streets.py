"""Rendered data sets: pictures, and labels that fit them."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.rendering.scenery import Scene
from workshop.training.streets import SIDE_PX, draw_streets, main, write_data


def grey_scene(size_wh: tuple[int, int], *xyxy: tuple[int, int, int, int]) -> Scene:
    picture = np.full((size_wh[1], size_wh[0], 3), 128, np.uint8)
    boxes = np.array(xyxy, np.float32).reshape(-1, 4)
    return Scene(picture, boxes, ("A123BC77",) * len(boxes), np.zeros((len(boxes), 4, 2), "f4"))


def test_no_plates_give_an_empty_label_file(tmp_path: Path) -> None:
    write_data(tmp_path, [grey_scene((64, 32))])
    assert (tmp_path / "labels/train/0000.txt").read_text() == ""


@pytest.mark.parametrize(
    ("size_wh", "written_wh"),
    [
        pytest.param((1920, 1080), (SIDE_PX, 720), id="large pictures are made smaller"),
        pytest.param((640, 320), (640, 320), id="small ones stay"),
    ],
)
def test_pictures_fit_the_training(
    tmp_path: Path, size_wh: tuple[int, int], written_wh: tuple[int, int]
) -> None:
    write_data(tmp_path, [grey_scene(size_wh)])
    assert cv2.imread(str(tmp_path / "images/train/0000.jpg")).shape[1::-1] == written_wh


def test_labels_do_not_depend_on_the_size_of_the_file(tmp_path: Path) -> None:
    write_data(tmp_path, [grey_scene((2000, 1000), (900, 480, 1100, 520))])
    line = (tmp_path / "labels/train/0000.txt").read_text()
    assert line == "0 0.500000 0.500000 0.100000 0.040000\n"


def test_each_picture_has_its_own_label_file(tmp_path: Path) -> None:
    write_data(tmp_path, [grey_scene((64, 32)), grey_scene((64, 32), (0, 0, 32, 8))])
    assert len(list((tmp_path / "images/train").iterdir())) == 2
    assert (tmp_path / "labels/train/0001.txt").read_text().startswith("0 0.25")


def test_every_second_picture_is_a_road_and_the_others_stay_what_they_are_without() -> None:
    mixed, parked, roads = (
        [one.picture for one in draw_streets(2, seed=3, roads=share)] for share in (0.5, 0.0, 1.0)
    )
    assert np.array_equal(mixed[0], parked[0])
    assert np.array_equal(mixed[1], roads[1])
    assert not np.array_equal(mixed[1], parked[1])


def test_plates_seen_from_near_are_large_in_their_pictures() -> None:
    parked, near = draw_streets(2, seed=3, roads=0, near=0.5)
    assert np.array_equal(parked.picture, next(draw_streets(2, seed=3, roads=0)).picture)
    x0, y0, x1, y1 = near.xyxy[0]
    height, width = near.picture.shape[:2]
    assert 0 < x0 < x1 < width
    assert 0 < y0 < y1 < height
    assert x1 - x0 > width / 3


def test_a_share_above_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", "streets", "--roads", "1.5"])
    told = "workshop.training.streets: argument --roads: wanted a share from 0 to 1, got '1.5'\n"
    assert capsys.readouterr().err == told
