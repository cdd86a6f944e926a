from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.reporting.sheets import GAP_PX, arrange, cut_out, write_sheets

RED = (0, 0, 255)


def plain(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((10, 20, 3), colour, np.uint8)


def test_tiles_are_laid_out_row_by_row() -> None:
    sheet = arrange([plain((9, 9, 9)), plain((8, 8, 8)), plain(RED)], columns=2)
    assert sheet.shape == (2 * 10 + 3 * GAP_PX, 2 * 20 + 3 * GAP_PX, 3)
    top, left = 10 + 2 * GAP_PX, GAP_PX
    assert (sheet[top : top + 10, left : left + 20] == RED).all()


def test_sheets_hold_so_many_tiles(tmp_path: Path) -> None:
    paths = write_sheets([plain(RED)] * 5, tmp_path, "misses", columns=2, rows=1)
    assert [path.name for path in paths] == ["misses_1.png", "misses_2.png", "misses_3.png"]
    assert cv2.imread(str(paths[2])).shape[1] == 20 + 2 * GAP_PX


def test_sheets_of_an_earlier_run_are_removed_and_no_others(tmp_path: Path) -> None:
    for name in ("misses_7.png", "other_1.png", "misses_all.png"):
        (tmp_path / name).touch()
    assert write_sheets([], tmp_path, "misses") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["misses_all.png", "other_1.png"]


def test_a_sheet_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_sheets([plain(RED)], tmp_path / "nowhere", "misses")


def test_a_view_is_centred_on_its_box() -> None:
    picture = np.zeros((40, 80, 3), np.uint8)
    picture[10:20, 40:60] = RED
    view, affine = cut_out(picture, (40, 10, 60, 20), (40, 20), span=1.0)
    assert view.shape == (20, 40, 3)
    assert view[10, 20].tolist() == list(RED)
    assert (affine @ [40, 10, 1]).tolist() == [0, 0]


def test_beyond_the_edge_a_view_is_grey() -> None:
    view, _ = cut_out(np.zeros((40, 80, 3), np.uint8), (0, 0, 20, 10), (40, 20), span=2.0)
    assert view[0, 0].tolist() == [150, 150, 150]
