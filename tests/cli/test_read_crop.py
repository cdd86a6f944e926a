import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.errors import RequestError
from orchestrator.imaging.drawing import to_jpeg
from orchestrator.imaging.files import CROP
from orchestrator.plates import Plate, Plates
from tests.cli.no_server import NoServer

READ = Plate((0, 0, 90, 20), text="A001AA77", text_score=0.98, raw_text="A001AA7", format="ru_car")
UNREAD = Plate((0, 0, 90, 20), text_score=0.4, raw_text="A001A")


class CropClient(NoServer):
    """Gives every crop the same text, except one with a low score and one that is no picture."""

    def read_crops(self, crops, text_threshold: float | None) -> Plates:
        (crop,) = crops
        if crop == b"junk":
            raise RequestError("crop 0: wanted a picture, got junk")
        return Plates((UNREAD if text_threshold else READ,))


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr("orchestrator.client.PlateClient", CropClient)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(
        app, ["read-crop", "--url", "somewhere:1", *arguments]
    )


@pytest.fixture(autouse=True)
def crops(tmp_path) -> None:
    (tmp_path / "crops").mkdir()
    for name in ("first.png", "second.png"):
        (tmp_path / "crops" / name).touch()


def test_each_crop_is_a_row_and_a_file_that_is_none_is_told(run, tmp_path) -> None:
    (tmp_path / "crops" / "junk.png").write_bytes(b"junk")
    result = run("crops")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "text       text_score  raw_text   format      crop",
        "A001AA77         0.98  A001AA7    ru_car      crops/first.png",
        "A001AA77         0.98  A001AA7    ru_car      crops/second.png",
    ]
    assert result.stderr == "crops/junk.png: wanted a picture, got junk\n"


def test_an_unsure_text_is_a_question_mark(run) -> None:
    result = run("crops/first.png", "--text-threshold", "0.9")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split() == ["?", "0.40", "A001A", "crops/first.png"]


def test_json_has_what_a_crop_says_and_nothing_of_where(run) -> None:
    result = run("crops/first.png", "--json")
    assert json.loads(result.stdout) == {
        "crop": "crops/first.png",
        "text": "A001AA77",
        "text_score": 0.98,
        "raw_text": "A001AA7",
        "character_scores": [],
        "candidates": [],
        "format": "ru_car",
        "region": None,
    }


def test_nothing_to_read_is_an_error(run) -> None:
    result = run("nowhere.png")
    assert result.exit_code == 2
    assert result.stderr == "nowhere.png: no such file or folder\n"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        pytest.param(["--url", "x:1"], "plk_given", id="of-a-gateway"),
        pytest.param([], None, id="not-of-a-server-of-its-own"),
    ],
)
def test_a_key_is_shown(run, monkeypatch, url: list[str], key: str | None) -> None:
    clients: list[CropClient] = []

    def make(url: str, *, key: str | None) -> CropClient:
        clients.append(CropClient(url, key=key))
        return clients[-1]

    monkeypatch.setattr("orchestrator.client.PlateClient", make)
    own = "orchestrator.cli.read_crop.reach_server"
    monkeypatch.setattr(own, lambda url, **options: nullcontext(url))
    result = CliRunner().invoke(app, ["read-crop", "crops", *url], env={"PLATES_KEY": "plk_given"})
    assert result.exit_code == 0
    assert [client.key for client in clients] == [key]


def test_a_folder_with_nothing_to_read_starts_no_server(tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    Path("notes.txt").touch()
    result = CliRunner().invoke(app, ["read-crop", "."])
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        ".: no pictures in this folder (JPEG, PNG, WebP or BMP)",
        "skipped 1 file that is not JPEG, PNG, WebP or BMP: 1 .txt",
    ]


def test_crops_of_recognize_can_be_read(run, tmp_path) -> None:
    (tmp_path / "1.jpg").write_bytes(to_jpeg(np.zeros((20, 90, 3), np.uint8), CROP))
    (tmp_path / "2.jpg").write_bytes(to_jpeg(np.zeros((20, 90, 3), np.uint8)))
    result = run(".")
    assert "  1.jpg" in result.stdout
    assert "2.jpg" not in result.stdout
