"""`plates train`: recipes, run folders, and another country's plates from training to reading."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from orchestrator import load_networks
from orchestrator.formats.plate_formats import read_formats
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from workshop.training.detector.detector_recipe import (
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
)
from workshop.training.reader.reader_recipe import REHEARSED, ReaderRecipe, ReaderSchedule
from workshop.training.train_commands import train

pytestmark = pytest.mark.server

TINY = """
[data]
crops = "crops"
labels = "labels.csv"

[training]
batch = 4
real_share = 1
pool = 6
typical = 4
checked = 2
save_every = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recipe, `tiny.toml`, with six made-up crops of another country, where plates are `Ж01`."""
    (tmp_path / "crops").mkdir()
    rows = ["crop,text"]
    for number in range(1, 7):
        picture = np.random.default_rng(number).integers(0, 255, (42, 120, 3), np.uint8)
        cv2.imwrite(str(tmp_path / "crops" / f"{number}_1.png"), picture)
        rows.append(f"{number}_1.png,Ж{number:02d}")
    (tmp_path / "labels.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "formats.toml").write_text(
        'alphabet = "0123456789ЖA"\n[[format]]\nname = "mine"\nlayouts = ["LDD"]\n',
        encoding="utf-8",
    )
    return tmp_path


def invoke(*arguments: object) -> Result:
    result = CliRunner().invoke(train, [str(argument) for argument in arguments])
    torch.set_num_threads(1)  # a training sets them for its whole process
    return result


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["none.toml"], "none.toml: wanted a TOML file", id="no recipe"),
        pytest.param(["--resume"], "no checkpoint.pt to go on with is here", id="no run"),
        pytest.param(
            ["--crops", "x"], "or neither of them (--crops, --labels), got crops", id="no labels"
        ),
        pytest.param(
            ["--minutes", "5", "--steps", "9"],
            "length: wanted --steps or minutes, got 9 steps and 5.0 minutes",
            id="two lengths",
        ),
        pytest.param(["--font", "x.ttf"], "x.ttf: wanted a TrueType font, got", id="no font"),
    ],
)
def test_a_training_that_cannot_begin_ends_with_a_sentence(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = invoke("reader", *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "run").exists()


def test_a_gpu_that_is_not_there_is_missed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = invoke("reader", "--out", tmp_path / "run", "--device", "gpu")
    assert result.exit_code == 2
    assert "device: wanted a GPU, got none" in result.output


@pytest.fixture
def started_recipes(monkeypatch: pytest.MonkeyPatch) -> list[ReaderRecipe | DetectorRecipe]:
    """The recipes of the trainings that begin, which do nothing."""
    recipes: list[ReaderRecipe | DetectorRecipe] = []
    for network in ("reader", "detector"):
        monkeypatch.setattr(
            f"workshop.training.{network}.{network}_training.run",
            lambda recipe, *_, **__: recipes.append(recipe),
        )
    return recipes


def test_flags_stand_above_the_recipe(folder: Path, started_recipes) -> None:
    arguments = ["--steps", 7, "--seed", 5, "--font", "plates.ttf", "--validation", "checked"]
    arguments += ["--workers", 3, "--formats", folder / "formats.toml"]
    result = invoke("reader", folder / "tiny.toml", "--out", folder / "run", *arguments)
    assert result.exit_code == 0
    (recipe,) = started_recipes
    assert recipe.training == ReaderSchedule(
        steps=7, seed=5, batch=4, real_share=1, pool=6, typical=4, checked=2, save_every=1,
        workers=3,
    )  # fmt: skip
    assert recipe.formats == folder / "formats.toml"
    assert recipe.data.validation == Path.cwd() / "checked"
    assert recipe.data.font == Path.cwd() / "plates.ttf"
    assert recipe.data.crops == folder / "crops"


@pytest.mark.parametrize(
    ("recipe", "flags", "formats_file"),
    [
        pytest.param('formats = "own.toml"', [], "own.toml", id="recipe"),
        pytest.param("", [], "environment.toml", id="environment"),
        pytest.param('formats = "own.toml"', ["--formats", "/flag.toml"], "/flag.toml", id="flag"),
    ],
)
def test_formats_come_from_the_flag_the_recipe_the_environment(
    tmp_path: Path, monkeypatch, started_recipes, recipe: str, flags: list[str], formats_file: str
) -> None:
    monkeypatch.setenv("PLATE_FORMATS", str(tmp_path / "environment.toml"))
    (tmp_path / "recipe.toml").write_text(recipe)
    invoke("reader", tmp_path / "recipe.toml", "--out", tmp_path / "run", *flags)
    assert started_recipes[0].formats == tmp_path / formats_file


def test_a_resumed_run_has_no_formats_of_the_environment(
    tmp_path: Path, monkeypatch, started_recipes
) -> None:
    monkeypatch.setenv("PLATE_FORMATS", "/environment.toml")
    (tmp_path / "recipe.toml").touch()
    invoke("reader", "--resume", "--out", tmp_path)
    assert started_recipes[0].formats is None


def test_the_detectors_flags_stand_above_its_recipe(tmp_path: Path, started_recipes) -> None:
    data = ["--data", tmp_path, "--extra", tmp_path / "one", "--extra", tmp_path / "two"]
    result = invoke("detector", "--out", tmp_path / "run", "--epochs", 3, *data)
    assert result.exit_code == 0
    data = DetectorData(tmp_path, (tmp_path / "one", tmp_path / "two"))
    assert started_recipes == [DetectorRecipe(data=data, training=DetectorSchedule(epochs=3))]


@pytest.mark.parametrize(
    ("network", "length", "minutes", "steps"),
    [
        pytest.param("reader", ["--minutes", 5], 5, 8000, id="reader"),
        pytest.param("detector", ["--minutes", 60], 60, None, id="detector"),
        pytest.param("reader", ["--rehearse"], None, REHEARSED, id="rehearsal"),
    ],
)
def test_minutes_take_the_recipe_for_a_gpu(
    tmp_path: Path,
    started_recipes,
    network: str,
    length: list[str | int],
    minutes: float,
    steps: int,
) -> None:
    result = invoke(network, "--out", tmp_path / "run", *length)
    assert result.exit_code == 0
    (recipe,) = started_recipes
    assert recipe.start.exists()
    assert recipe.training.minutes == minutes
    assert getattr(recipe.training, "steps", None) == steps
    assert (network == "detector") or recipe.teacher.width


def test_another_countrys_reader_is_trained_and_reads_with_the_service(folder: Path) -> None:
    file, out = folder / "formats.toml", folder / "run"
    arguments = ("--formats", file, "--device", "cpu", "--threads", 1, "--steps", 2)
    result = invoke("reader", folder / "tiny.toml", "--out", out, *arguments)
    assert result.exit_code == 0, result.output
    assert (out / "formats.toml").read_text() == file.read_text()
    formats = read_formats(out / "formats.toml")
    infer = load_networks(out, formats=formats)
    crop = infer("stn", {"input__0": torch.zeros(1, 3, 24, 94)})["output__0"]
    logits = infer("lprnet", {"input__0": crop})["output__0"]
    assert logits.shape == (1, 13, 18)
    path = torch.tensor([[10, 10, 12, 0, 12, 1] + 12 * [12]])
    sure = 20 * torch.nn.functional.one_hot(path, 13).float().transpose(1, 2)
    (reading,) = decode(logits + sure, Grammar.of(formats))
    assert reading.candidates[0][0] == "Ж01"


ENDLESS = """
from workshop.training.train_commands import train
arguments = ["reader", "tiny.toml", "--out", "run", "--device", "cpu", "--threads", "1"]
train([*arguments, "--formats", "formats.toml", "--steps", "100000"], standalone_mode=False)
"""


def test_ctrl_c_leaves_a_run_to_go_on_with(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], cwd=folder, text=True, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (folder / "run" / "SHA256SUMS").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error_output = process.communicate(timeout=60)
    assert "real crops to learn from" in error_output
    assert "plates train reader --out run --resume" in error_output
    assert torch.load(folder / "run" / "checkpoint.pt", weights_only=True)["step"] >= 1
