"""Counting close-ups: found by the box, read by the text, in bands of width and turn."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.workshop.evaluation.scripted import READS, scripted_networks
from workshop.evaluation.close_ups import Judged, count, main

HEADER = "image,text,x0,y0,x1,y1,share,turn_deg"
FITS, ELSEWHERE = "34,38,94,58,0.47,-12.0", "0,0,128,30,1.0,31.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three close-ups; the scripted networks read one text from the middle of each."""
    (tmp_path / "images").mkdir()
    rows = (f"{READS},{FITS}", f"B840OK197,{FITS}", f"{READS},{ELSEWHERE}")
    for index in range(len(rows)):
        cv2.imwrite(str(tmp_path / "images" / f"{index}.png"), np.full((96, 128, 3), 90, np.uint8))
    lines = [HEADER, *(f"{index}.png,{row}" for index, row in enumerate(rows))]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def row_of(table: str, name: str) -> list[int]:
    (line,) = (line for line in table.splitlines() if line.startswith(f"{name} "))
    return [int(cell) for cell in line.removeprefix(name).split()]


def test_the_command_counts_boxes_that_fit_and_texts_that_are_exact(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted_networks():
        main([str(folder), "--threads", "1", "--rows", str(folder / "rows.csv")])
    table = capsys.readouterr().out
    assert row_of(table, "all") == [3, 2, 2, 1, 1]
    assert row_of(table, "width <0.5") == [2, 2, 1, 1, 1]
    assert row_of(table, "width >=0.85") == [1, 0, 1, 0, 0]
    assert row_of(table, "turn 10-20") == [2, 2, 1, 1, 1]
    assert row_of(table, "turn >=30") == [1, 0, 1, 0, 0]
    assert (folder / "rows.csv").read_text().splitlines()[1:] == [
        "0.png,0.47,-12.0,True,True,0",
        "1.png,0.47,-12.0,True,False,1",
        "2.png,1.0,31.0,False,True,0",
    ]


def test_without_close_ups_every_count_is_zero() -> None:
    assert row_of(count([]), "all") == [0, 0, 0, 0, 0]


def test_a_turn_to_the_left_counts_like_one_to_the_right() -> None:
    judged = [Judged("a.jpg", 0.9, turn, True, True, 0) for turn in (-25.0, 25.0)]
    assert row_of(count(judged), "turn 20-30") == [2, 2, 2, 2, 0]


def test_a_folder_without_labels_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted_networks(), pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "labels.csv: cannot be read" in capsys.readouterr().err
