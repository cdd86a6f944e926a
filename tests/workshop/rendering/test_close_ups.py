"""Rendered close-ups: plates of the promised width, within their pictures."""

from pathlib import Path

import cv2
import pytest

from workshop.evaluation.datasets import read_scenes
from workshop.rendering.close_ups import draw_close_ups, main
from workshop.rendering.country import russia


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.rendering.close_ups.SIZES_WH", ((400, 300),))
    monkeypatch.setattr("workshop.rendering.close_ups.TIGHT_WIDTHS_PX", (120, 200))
    monkeypatch.setattr("workshop.rendering.close_ups.CAR_PX", 300)


def test_a_plate_fills_its_picture_and_lies_within_it() -> None:
    close_ups = list(draw_close_ups(russia(), 16, seed=1))
    for close_up in close_ups:
        height, width = close_up.picture.shape[:2]
        x0, y0, x1, y1 = close_up.region
        assert 0 <= x0 < x1 <= width + 1e-6
        assert 0 <= y0 < y1 <= height + 1e-6
        assert 0.35 <= (x1 - x0) / width <= 1
    assert {close_up.picture.shape[:2] for close_up in close_ups} > {(300, 400)}


def test_every_fourth_picture_is_a_tight_crop() -> None:
    for close_up in list(draw_close_ups(russia(), 8, seed=2))[3::4]:
        height, width = close_up.picture.shape[:2]
        x0, y0, x1, y1 = close_up.region
        assert 120 <= width <= 200
        assert x1 - x0 >= 0.79 * width
        assert y1 - y0 >= 0.79 * height - 1


def test_the_command_writes_what_evaluation_reads(tmp_path: Path) -> None:
    main(["--out", str(tmp_path), "--count", "2", "--seed", "4"])
    scenes = read_scenes(tmp_path)
    assert [scene.path.name for scene in scenes] == ["0000.jpg", "0001.jpg"]
    height, width = cv2.imread(str(scenes[0].path)).shape[:2]
    x0, y0, x1, y1 = scenes[0].plates[0].region
    assert 0 <= x0 < x1 <= width + 0.1
    assert 0 <= y0 < y1 <= height + 0.1
