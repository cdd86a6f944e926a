import json
import re
from contextlib import nullcontext
from importlib import metadata

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import COMMANDS, app
from orchestrator.errors import RequestError
from orchestrator.plates import Plate, Plates
from tests.cli.no_server import NoServer
from tests.samples import STREET

PLATE = Plate((10.4, 20.6, 110.0, 45.0), 0.9, "A001AA77", 0.98, "A001AA77", format="ru_car")
UNREAD = Plate((5000.0, 3000.0, 5100.0, 3045.0), 0.6, "", 0.4, "M456OP199")
JUNK = b"junk"


class FakeClient(NoServer):
    """Answers every picture with the same plates, except one that is no picture."""

    plates = (PLATE,)

    def recognize(self, picture: bytes, **parameters: float | None) -> Plates:
        if picture == JUNK:
            raise RequestError("wanted a picture, got junk")
        return Plates(() if parameters["detection_threshold"] else self.plates)


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr("orchestrator.client.PlateClient", FakeClient)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


def test_every_command_is_found(run) -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert all(command in done.output for command in COMMANDS)


def test_the_version_is_that_of_the_package(run) -> None:
    done = run("--version")
    assert done.exit_code == 0
    assert done.output.startswith(f"plates {metadata.version('orchestrator')}, ")


def test_recognize_prints_a_table(run) -> None:
    done = run("recognize", STREET, "--url", "somewhere:8000")
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == f"{STREET}: 1 plate"
    assert re.search(
        r"^ *A001AA77 +0\.98 +A001AA77 +ru_car +0\.90 +10 +21 +110 +45$", done.output, re.M
    )


def test_a_text_that_is_not_sure_enough_is_explained_once(run, monkeypatch) -> None:
    monkeypatch.setattr(FakeClient, "plates", (UNREAD,))
    done = run("recognize", STREET, STREET, "--url", "x:1")
    assert len(re.findall(r"^ +\? +0\.40 +M456OP199 ", done.stdout, re.M)) == 2
    assert (
        done.stderr == "?: not sure enough, or in no plate format; raw_text is the best reading\n"
    )


def test_recognize_says_when_there_are_no_plates(run) -> None:
    done = run("recognize", STREET, "--url", "x:1", "--detection-threshold", "0.9")
    assert done.output.strip() == f"{STREET}: no plates"


def test_recognize_prints_json(run) -> None:
    done = run("recognize", STREET, "--url", "x:1", "--json")
    (plate,) = json.loads(done.stdout)["plates"]
    assert plate["text"] == "A001AA77"


def test_one_bad_picture_does_not_stop_the_others(run, tmp_path) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(JUNK)
    done = run("recognize", bad, STREET, "--url", "x:1")
    assert done.exit_code == 1
    assert done.stderr == f"{bad}: wanted a picture, got junk\n"
    assert "A001AA77" in done.stdout


def test_a_file_that_cannot_be_read_is_named_once(run) -> None:
    done = run("recognize", "/proc/self/mem", STREET, "--url", "x:1")
    assert done.exit_code == 1
    assert re.fullmatch(r"/proc/self/mem: cannot be read: .*\n", done.stderr)


def test_nothing_to_recognise_starts_no_server(run, tmp_path) -> None:
    done = run("recognize", tmp_path, tmp_path / "gone.jpg")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        f"{tmp_path}: no pictures in this folder (drawings are none)",
        f"{tmp_path / 'gone.jpg'}: no such file or folder",
    ]


def test_annotate_draws_a_picture(run, tmp_path) -> None:
    done = run("recognize", STREET, "--url", "x:1", "--annotate", tmp_path / "new")
    drawn = cv2.imread(str(tmp_path / "new" / "street.png"))
    assert done.exit_code == 0
    assert f"drawn in {tmp_path / 'new' / 'street.png'}" in done.stdout
    assert drawn.shape == cv2.imread(str(STREET)).shape
    assert not np.array_equal(drawn, cv2.imread(str(STREET)))


def test_plates_are_printed_though_they_cannot_be_drawn(run, tmp_path) -> None:
    (tmp_path / "file").touch()
    done = run("recognize", STREET, "--url", "x:1", "--annotate", tmp_path / "file")
    assert done.exit_code == 1
    assert "A001AA77" in done.stdout
    assert re.fullmatch(
        rf"{STREET}: {tmp_path}/file/street.png: cannot be written: .*\n", done.stderr
    )


def test_missing_weights_are_one_sentence(run, tmp_path) -> None:
    done = run("export", "--weights", tmp_path / "none")
    assert done.exit_code == 2
    assert done.output.startswith("plates: weights: no such folder: ")
    assert done.output.count("\n") == 1


@pytest.fixture
def made(run, monkeypatch) -> list[tuple[str, str | None]]:
    """The URL and the key of each client that is made."""
    clients: list[tuple[str, str | None]] = []

    def make(url: str, *, key: str | None) -> FakeClient:
        clients.append((url, key))
        return FakeClient(url, key=key)

    monkeypatch.setattr("orchestrator.client.PlateClient", make)
    return clients


def test_a_key_comes_from_the_command_line_or_the_environment(run, made, monkeypatch) -> None:
    run("recognize", STREET, "--url", "x:1")
    run("recognize", STREET, "--url", "x:1", "--key", "plk_given")
    monkeypatch.setenv("PLATES_KEY", "plk_set")
    run("recognize", STREET, "--url", "x:1")
    assert made == [("x:1", None), ("x:1", "plk_given"), ("x:1", "plk_set")]


def test_a_server_of_its_own_is_shown_no_key(run, made, monkeypatch) -> None:
    own = "orchestrator.cli.recognize.reach_server"
    monkeypatch.setattr(own, lambda url, **options: nullcontext("own:1"))
    run("recognize", STREET, "--key", "plk_given")
    assert made == [("own:1", None)]


def test_what_is_no_key_is_one_sentence_without_it() -> None:
    arguments = ["recognize", str(STREET), "--url", "localhost:9", "--key", "hush hush"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert done.output.startswith("plates: key: wanted printable ASCII")
    assert "hush" not in done.output
