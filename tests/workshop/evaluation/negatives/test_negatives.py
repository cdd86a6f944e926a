"""The command that counts texts on no plate, with scripted networks."""

from pathlib import Path

import cv2
import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.workshop.evaluation.scripted import infer, write_scenes
from workshop.evaluation.datasets import write_labels
from workshop.evaluation.negatives.__main__ import app

SIZE_WH = (128, 96)


@pytest.fixture(autouse=True)
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    # No code of three digits begins with 50, so nobody looks whether its end is hidden.
    monkeypatch.setattr("tests.workshop.evaluation.scripted.READS", "A123BC50")
    monkeypatch.setattr("workshop.evaluation.negatives.__main__.load_here", lambda *_: infer)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.ROADS", 0.0)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.SIZES_WH", ((320, 240),))


def count(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two photos: the plate of the first one is labelled, that of the second one is not."""
    folder = write_scenes(tmp_path / "data", "A123BC77", "A123BC78")
    write_labels(folder / "labels/val/1.txt", [(0.0, 0.0, 20.0, 10.0)], SIZE_WH)
    return folder


def test_every_text_on_a_rendered_picture_is_wrong(tmp_path: Path) -> None:
    result = count("--count", 3, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "rendered: 3 pictures, 3 detections of no plate, 3 texts shown" in result.output
    assert "texts shown per 1,000 pictures: 1000.0" in result.output
    assert "95 % interval 438.5 to 1000.0" in result.output
    sheet = cv2.imread(str(tmp_path / "out/rendered_shown_1.png"))
    assert sheet.shape[1] > 3 * 400
    assert (tmp_path / "out/.gitignore").read_text() == "*\n"


def test_labelled_plates_of_photos_are_left_out(data: Path, tmp_path: Path) -> None:
    photos = ("--pictures", data / "images/val", "--labels", data / "labels/val")
    result = count("--count", 0, *photos, "--out", tmp_path)
    assert "photos: 2 pictures, 1 detections of no plate, 1 texts shown" in result.output
    header, row, *_ = result.output.split("threshold", 1)[1].splitlines()
    assert header.strip() == "no plate, photos"
    assert row.split() == ["0.3", "1"]


def test_the_written_list_sets_plates_aside(data: Path, tmp_path: Path) -> None:
    photos = ("--pictures", data / "images/val", "--labels", data / "labels/val")
    count("--count", 0, *photos, "--out", tmp_path)
    list_file = tmp_path / "photos_shown.csv"
    assert list_file.read_text().splitlines()[1].startswith("1.png,")
    result = count("--count", 0, *photos, "--ignore", list_file, "--out", tmp_path)
    assert "2 pictures, 0 detections of no plate, 0 texts shown" in result.output


def test_a_threshold_hides_texts(tmp_path: Path) -> None:
    result = count("--count", 1, "--text-threshold", 0.99, "--out", tmp_path)
    assert "1 detections of no plate, 0 texts shown from a score of 0.99 on" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--count", 0], "wanted a count of rendered pictures or --pictures", id="no"),
        pytest.param(["--pictures", "."], "wanted --pictures and --labels, got one", id="half"),
        pytest.param(
            ["--count", 0, "--pictures", ".", "--labels", "nowhere"],
            "nowhere: wanted a folder of labels, got none",
            id="labels",
        ),
    ],
)
def test_data_that_is_missing_is_told(arguments: list[object], message: str, tmp_path) -> None:
    result = count(*arguments, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.output
