"""Error messages of this package's commands."""

from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.layouts import MAX_LENGTH
from orchestrator.formats.plate_formats import Formats, PlateFormat
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from workshop.rendering import scenes, specimens
from workshop.rendering.samples import synth

SEVEN = """
import numpy as np
from workshop.rendering.country import FlatPlate

def draw(rng, format_name, *, text, glyphs):
    if format_name == "never" or text == "7":
        raise ValueError(f"no {text}")
    return FlatPlate(np.full((40, 160, 3), 255, np.uint8), text, format_name)
"""
FORMATS = """
alphabet = "0123456789"
renderer = "renderer:draw"

[[format]]
name = "digit"
layouts = ["D"]

[[format]]
name = "never"
layouts = ["DD"]
share = 0
"""


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    """Formats of a country whose renderer fails for some texts and for a format without a share."""
    (tmp_path / "renderer.py").write_text(SEVEN)
    (tmp_path / "formats.toml").write_text(FORMATS)
    return tmp_path / "formats.toml"


def fail(command, capsys, *arguments: object) -> str:
    with pytest.raises(SystemExit, match="2"):
        command([str(argument) for argument in arguments])
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        pytest.param(
            scenes,
            "--out set --count 0",
            "argument --count: wanted a whole number of at least 1, got '0'\n",
            id="no pictures",
        ),
        pytest.param(
            specimens,
            "--sheet x.png --seed -1",
            "argument --seed: wanted a whole number of at least 0, got '-1'\n",
            id="a seed below 0",
        ),
        pytest.param(
            specimens,
            "--sheet x.png --columns two",
            "argument --columns: wanted a whole number of at least 1, got 'two'\n",
            id="no number",
        ),
        pytest.param(
            synth,
            "--sheet nowhere/x.png",
            "nowhere/x.png: wanted a folder that is there, got nowhere\n",
            id="no folder",
        ),
        pytest.param(
            synth, "--sheet .", ".: wanted a PNG file to write, got a folder\n", id="a folder"
        ),
        pytest.param(
            synth,
            "--sheet x.png --font nowhere.ttf",
            "nowhere.ttf: wanted a TrueType font, got: cannot open resource\n",
            id="no font",
        ),
        pytest.param(
            synth, "--sheet x.png --formats nowhere.toml", "nowhere.toml: ", id="no country"
        ),
    ],
)
def test_an_impossible_command_ends_with_one_sentence(
    command, arguments: str, message: str, capsys, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    err = fail(command.main, capsys, *arguments.split())
    assert err.startswith(f"{command.__name__}: {message}")
    assert err.count("\n") == 1
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("command", "flag"), [(specimens.main, "--each"), (synth.main, "--count")])
def test_a_text_that_is_not_drawn_is_told_with_file_and_layout(
    formats: Path, command, flag: str, capsys
) -> None:
    sheet = formats.with_name("sheet.png")
    err = fail(command, capsys, "--formats", formats, "--sheet", sheet, flag, 99)
    assert f": {formats}: layout D of digit: renderer: wanted a plate 7" in err
    assert err.count("\n") == 1
    assert not sheet.exists()


def test_a_set_with_a_text_that_is_not_drawn_is_none(formats: Path, capsys) -> None:
    out = formats.with_name("set")
    err = fail(scenes.main, capsys, "--formats", formats, "--out", out, "--seed", 61)  # 0, then 7
    assert err == (
        f"workshop.rendering.scenes: {formats}: layout D of digit: renderer: "
        "wanted a plate 7 without rng, got: no 7\n"
    )
    assert not [*out.iterdir()]


def test_specimens_leave_out_formats_that_are_never_drawn(formats: Path) -> None:
    sheet = formats.with_name("sheet.png")
    specimens.main(["--formats", str(formats), "--sheet", str(sheet), "--each", "1"])
    assert sheet.read_bytes().startswith(b"\x89PNG")


NINE = Formats("0123456789", (PlateFormat("nine", ("DDDDDDDDD",)),))
BLANK = 10


def logits_of(classes: list[int]) -> torch.Tensor:
    """A network that is sure of a class at each step: (1, classes, steps)."""
    lattice = np.full((11, len(classes)), 0.001)
    lattice[classes, np.arange(len(classes))] = 0.99
    return torch.from_numpy(np.log(lattice)).float()[None]


def test_nine_equal_characters_fit_into_eighteen_steps() -> None:
    classes = [8, BLANK] * 9
    (reading,) = decode(logits_of(classes), Grammar.of(NINE))
    assert len(classes) == 18
    assert reading.candidates[0][0] == "888888888"


@pytest.mark.parametrize("layout", ["DDDDDDDDDD", "DDDDD/DDDDD"])
def test_ten_characters_are_refused_in_one_line_or_two(layout: str) -> None:
    assert MAX_LENGTH == 9
    with pytest.raises(SettingsError, match="wanted up to 9 characters, got DDDDD"):
        PlateFormat("ten", (layout,))
