"""Pictures without plates: streets and roads, and the command that writes them."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.rendering.plateless.__main__ import main
from workshop.rendering.plateless.plateless_pictures import draw_plateless

MODULE = "workshop.rendering.plateless.plateless_pictures"
SIZE_WH = (960, 540)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.SIZES_WH", ((320, 240),))
    monkeypatch.setattr(f"{MODULE}.ROAD_SIZES_WH", (SIZE_WH,))


def test_there_are_parked_cars_and_roads() -> None:
    shapes = {picture.shape for picture in draw_plateless(6, seed=3)}
    assert shapes == {(240, 320, 3), (*SIZE_WH[::-1], 3)}


def test_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.ROADS", 0.0)
    (first,), (same,), (other,) = (list(draw_plateless(1, seed)) for seed in (4, 4, 5))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_things_and_a_caption_are_drawn_over_a_street(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.ROADS", 0.0)
    monkeypatch.setattr(f"{MODULE}.GOOD_CAMERAS", 1.0)
    monkeypatch.setattr(f"{MODULE}.MAX_CARS", 0)
    monkeypatch.setattr(f"{MODULE}.THINGS", (6, 7))
    pictures = {}
    for share in (0.0, 1.0):
        monkeypatch.setattr(f"{MODULE}.CAPTIONS", share)
        (pictures[share],) = draw_plateless(1, seed=1)
    monkeypatch.setattr(f"{MODULE}.CAPTIONS", 0.0)
    monkeypatch.setattr(f"{MODULE}.THINGS", (0, 1))
    (empty,) = draw_plateless(1, seed=1)
    assert np.abs(pictures[0.0].astype(int) - empty).max() > 100
    assert np.abs(pictures[1.0].astype(int) - pictures[0.0]).max() > 100


def test_the_command_fills_a_new_folder_alone(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "plateless"
    arguments = ["--out", str(folder), "--count", "2", "--seed", "3"]
    main(arguments)
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["0000.jpg", "0001.jpg"]
    assert all(cv2.imread(str(file)).shape[2] == 3 for file in files)
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    message = f"workshop.rendering.plateless: {folder}: wanted a new or an empty folder, got one"
    assert capsys.readouterr().err.startswith(message)
