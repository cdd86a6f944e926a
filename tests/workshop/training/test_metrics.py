from dataclasses import replace
from pathlib import Path

import cv2
import pytest

from orchestrator.errors import SettingsError
from workshop.training import metrics
from workshop.training.metrics import (
    DetectorRow,
    Metrics,
    ReaderRow,
    can_draw,
    draw_detector,
    draw_reader,
)

START = ReaderRow(0, None, None, "rendered", 600, 0.0, 0.0)
LATER = ReaderRow(250, 1.734, 1e-3, "rendered", 600, 0.125, 0.25)
EPOCHS = [
    DetectorRow(0, 0, None, None, 0.0, 0.0, 0.0, 0.0),
    DetectorRow(1, 47, 0.1, 0.01, 0.9, 0.8, 0.85, 0.5),
]


def test_figures_are_a_row_a_measurement(tmp_path: Path) -> None:
    Metrics(ReaderRow, tmp_path, 0).add([START, LATER])
    assert (tmp_path / "metrics.csv").read_text().splitlines() == [
        "step,loss,rate,set,plates,raw_accuracy,averaged_accuracy",
        "0,,,rendered,600,0.0,0.0",
        "250,1.734,0.001,rendered,600,0.125,0.25",
    ]


@pytest.mark.parametrize("row", [LATER, EPOCHS[1]])
def test_a_run_that_goes_on_takes_its_figures_up(tmp_path: Path, row) -> None:
    Metrics(type(row), tmp_path, 0).add([row])
    assert Metrics(type(row), tmp_path, row.place).rows == [row]


def test_figures_after_the_checkpoint_are_made_again(tmp_path: Path) -> None:
    Metrics(ReaderRow, tmp_path, 0).add([START, LATER])
    again = Metrics(ReaderRow, tmp_path, 100)
    assert (again.has(0), again.has(250)) == (True, False)
    again.add([LATER])
    assert Metrics(ReaderRow, tmp_path, 250).rows == [START, LATER]


def test_a_file_of_something_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch,loss\n1,2\n")
    with pytest.raises(SettingsError, match=r"metrics.csv: wanted the figures of this run"):
        Metrics(ReaderRow, tmp_path, 0)


@pytest.mark.parametrize(
    ("draw", "rows"),
    [
        pytest.param(draw_reader, [START, replace(START, set="held out"), LATER], id="two sets"),
        pytest.param(draw_reader, [START], id="the start alone"),
        pytest.param(draw_detector, EPOCHS, id="detector"),
    ],
)
def test_figures_are_drawn(tmp_path: Path, draw, rows) -> None:
    draw(rows, tmp_path)
    assert cv2.imread(str(tmp_path / "metrics.png")).shape[2] == 3


def test_without_matplotlib_there_is_no_diagram_and_one_line_says_so(monkeypatch, caplog) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(metrics, "find_spec", lambda _: None)
    assert not can_draw()
    (message,) = caplog.messages
    assert message.startswith("no metrics.png: matplotlib is not installed")
