"""Rendered data sets of texts: every format in turn, and regions that hold the plates."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.errors import DataError, SettingsError
from orchestrator.formats.plate_formats import COUNTRIES
from workshop.evaluation.datasets import read_scenes
from workshop.rendering.country import country_of
from workshop.rendering.scenes import LabelledPicture, draw_pictures, main, write_pictures

FILE = COUNTRIES / "kazakhstan" / "formats.toml"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.rendering.scenes.SIZES_WH", ((320, 240),))
    monkeypatch.setattr("workshop.rendering.scenes.ROAD_SIZES_WH", ((960, 540),))


@pytest.mark.usefixtures("small")
def test_the_formats_come_in_turn_the_first_one_as_the_standard() -> None:
    kazakhstan = country_of(FILE)
    pictures = list(draw_pictures(kazakhstan, 8, seed=1))
    assert [picture.type for picture in pictures] == ["std", *["other"] * 6, "std"]
    names = [form.name for form in kazakhstan.formats.format]
    lines = [1, 1, 1, 2, 2, 1, 2, 1]
    formats = [
        kazakhstan.formats.format_of(picture.text, line_count)
        for picture, line_count in zip(pictures, lines, strict=True)
    ]
    assert formats == [*names, names[0]]


def test_regions_hold_something_light_within_the_picture() -> None:
    (drawing,) = draw_pictures(country_of(FILE), 1, seed=3)
    height, width = drawing.picture.shape[:2]
    x0, y0, x1, y1 = drawing.region
    assert 0 <= x0 < x1 <= width
    assert 0 <= y0 < y1 <= height
    inner = drawing.picture[round(y0) : round(y1), round(x0) : round(x1)]
    assert np.percentile(inner, 70) > np.median(drawing.picture)


@pytest.mark.usefixtures("small")
def test_the_command_writes_what_evaluation_reads(tmp_path: Path) -> None:
    main(["--formats", str(FILE), "--out", str(tmp_path), "--count", "2"])
    scenes = read_scenes(tmp_path, alphabet=country_of(FILE).formats.alphabet)
    assert [scene.path.name for scene in scenes] == ["0000.jpg", "0001.jpg"]
    assert [scene.plates[0].type for scene in scenes] == ["std", "other"]
    assert cv2.imread(str(scenes[0].path)).shape[2] == 3


@pytest.mark.usefixtures("small")
def test_roads_are_labelled_like_parked_cars_and_come_by_their_share() -> None:
    kazakhstan = country_of(FILE)
    parked, mixed, roads = (
        list(draw_pictures(kazakhstan, 3, seed=4, roads=share)) for share in (0.0, 0.5, 1.0)
    )
    assert [road.format for road in roads] == [drawing.format for drawing in parked]
    assert len({road.text for road in roads}) == 3
    assert all(road.picture.shape[1] == 960 for road in roads)
    assert all(road.region[2] - road.region[0] < 170 for road in roads)
    assert [drawing.picture.shape[1] == 960 for drawing in mixed] == [False, False, True]


def test_a_folder_that_has_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataError, match=r"wanted a new or an empty folder, got one with notes.txt"):
        write_pictures(tmp_path, [])
    with pytest.raises(DataError, match=r"notes.txt: wanted a new or an empty folder, got a file"):
        write_pictures(tmp_path / "notes.txt", [])
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def break_off() -> Iterator[LabelledPicture]:
    yield LabelledPicture(np.zeros((8, 8, 3), np.uint8), "12AB", "std", (0, 0, 8, 8), "car")
    raise SettingsError("renderer: wanted a plate")


def test_a_set_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="wanted a plate"):
        write_pictures(tmp_path, break_off())
    assert not [*tmp_path.iterdir()]
