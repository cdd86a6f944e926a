import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator import cli
from orchestrator.errors import RequestError
from orchestrator.plates import Plate, Plates

STREET = Path(__file__).parent / "data" / "street.jpg"
PLATE = Plate((10.4, 20.6, 110.0, 45.0), 0.9, "A001AA77", 0.98, "A001AA77", format="ru_car")


class FakeClient:
    """Answers every picture with the same plate, except one that is no picture."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def recognize(self, picture: Path, **parameters: float | None) -> Plates:
        if picture.suffix == ".bad":
            raise RequestError("wanted a picture, got junk")
        return Plates(() if parameters["detection_threshold"] else (PLATE,))


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr("orchestrator.client.PlateClient", FakeClient)
    return lambda *arguments: CliRunner().invoke(cli.app, [str(a) for a in arguments])


def test_help_names_the_commands(run) -> None:
    printed = run("--help").output
    assert all(command in printed for command in ("serve", "recognize", "export"))


def test_recognize_prints_a_table(run) -> None:
    done = run("recognize", STREET, "--url", "somewhere:8000")
    assert done.exit_code == 0
    assert "1 plates" in done.output
    assert "A001AA77" in done.output
    assert " 10 " in done.output


def test_recognize_says_when_there_are_no_plates(run) -> None:
    done = run("recognize", STREET, "--url", "x:1", "--detection-threshold", "0.9")
    assert done.output.strip() == f"{STREET}: no plates"


def test_recognize_prints_json(run) -> None:
    done = run("recognize", STREET, "--url", "x:1", "--json")
    (plate,) = json.loads(done.stdout)["plates"]
    assert plate["text"] == "A001AA77"


def test_one_bad_picture_does_not_stop_the_others(run, tmp_path) -> None:
    done = run("recognize", tmp_path / "x.bad", STREET, "--url", "x:1")
    assert done.exit_code == 1
    assert "x.bad: wanted a picture, got junk" in done.output
    assert "A001AA77" in done.output


def test_a_folder_stands_for_its_pictures(run, tmp_path) -> None:
    for name in ("b.JPG", "a.png", "notes.txt"):
        (tmp_path / name).touch()
    done = run("recognize", tmp_path, "--url", "x:1", "--json")
    pictures = [Path(json.loads(line)["picture"]).name for line in done.stdout.splitlines()]
    assert pictures == ["a.png", "b.JPG"]


def test_a_folder_without_pictures_is_refused(run, tmp_path) -> None:
    done = run("recognize", tmp_path, "--url", "x:1")
    assert done.exit_code == 2
    assert "wanted pictures, got a folder without any" in done.output


def test_annotate_draws_a_picture(run, tmp_path) -> None:
    import cv2

    done = run("recognize", STREET, "--url", "x:1", "--annotate", tmp_path / "new")
    drawn = cv2.imread(str(tmp_path / "new" / "street.png"))
    assert done.exit_code == 0
    assert drawn.shape == cv2.imread(str(STREET)).shape
    assert not np.array_equal(drawn, cv2.imread(str(STREET)))


def test_missing_weights_are_one_sentence(run, tmp_path) -> None:
    done = run("export", "--weights", tmp_path)
    assert done.exit_code == 2
    assert done.output.startswith("plates: weights: wanted ")
    assert done.output.count("\n") == 1


def test_export_says_when_there_is_nothing_to_do(run) -> None:
    run("export")
    assert run("export").output == "every exported model is up to date\n"
