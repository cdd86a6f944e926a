"""Rendered data sets: pictures, and labels that fit them."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.evaluation.datasets import read_labels
from workshop.rendering.scenery import Scene
from workshop.training.streets import SIDE_PX, draw_streets, main, write_data


def grey_scene(size_wh: tuple[int, int], *xyxy: tuple[int, int, int, int]) -> Scene:
    picture = np.full((size_wh[1], size_wh[0], 3), 128, np.uint8)
    boxes = np.array(xyxy, np.float32).reshape(-1, 4)
    return Scene(picture, boxes, ("A123BC77",) * len(boxes), np.zeros((len(boxes), 4, 2), "f4"))


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


def test_roads_and_near_plates_come_by_their_shares_from_generators_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for kind in ("street", "road", "near"):
        draw_kind = lambda rng, _, kind=kind: (kind, rng.integers(10**9))  # noqa: E731
        monkeypatch.setattr(f"workshop.training.streets.draw_{kind}", draw_kind)
    mixed, some_near = (draw_streets(4, seed=3, roads=0.5, near=share) for share in (0, 0.25))
    kinds, numbers = zip(*mixed, strict=True)
    assert kinds == ("street", "road", "street", "road")
    assert len(set(numbers)) == 4
    assert [*some_near] == [*zip(("street", "road", "street", "near"), numbers, strict=True)]


def test_the_command_writes_streets_roads_and_near_plates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workshop.training.streets.PLATES", (2,) * 9)
    monkeypatch.setattr("workshop.training.streets.SIZES_WH", ((640, 480),))
    monkeypatch.setattr("workshop.training.streets.ROAD_SIZES_WH", ((960, 540),))
    main(["--out", str(tmp_path), "--count", "3", "--roads", "0.5", "--near", "0.4"])
    street, road, near = (
        read_labels(tmp_path / f"labels/train/000{index}.txt") for index in range(3)
    )
    shapes = [cv2.imread(str(file)).shape for file in sorted((tmp_path / "images/train").iterdir())]
    assert shapes[:2] == [(480, 640, 3), (540, 960, 3)]
    assert len(street) == 2
    assert 1 <= len(road) <= 6
    assert max(width for _, _, width, _ in road) < 0.2
    ((_, _, width, _),) = near
    assert 1 / 3 < width < 1


def test_a_share_above_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", "streets", "--roads", "1.5"])
    message = "workshop.training.streets: argument --roads: wanted a share from 0 to 1, got '1.5'\n"
    assert capsys.readouterr().err == message
