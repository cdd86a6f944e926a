"""`plates train`: recipes, run folders, and another country's plates from training to reading."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA
from orchestrator.networks.state_dicts import load_state
from orchestrator.toml_files import read_table, to_toml
from training.command import train
from training.recipes import (
    SHIPPED,
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
    ReaderData,
    ReaderRecipe,
    ReaderSchedule,
)
from training.runs import Progress, complete, duration, open_run

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
    result = CliRunner().invoke(train, [str(one) for one in arguments])
    torch.set_flush_denormal(False)  # which a training sets for its whole process
    return result


TRAIN = """
from training.command import train
arguments = ["reader", "tiny.toml", "--out", "run", "--device", "cpu", "--threads", "1"]
arguments += ["--formats", "formats.toml"]
train([*arguments, "--steps", STEPS], standalone_mode=False)
"""
READ = """
import json, torch
from pathlib import Path
from orchestrator import ctc, load_networks
from orchestrator.formats import read_formats
from orchestrator.grammar import Grammar
formats = read_formats(Path("run/formats.toml"))
infer = load_networks(Path("run"), formats=formats)
crop = {"input__0": torch.zeros(1, 3, 24, 94)}
logits = infer("lprnet", {"input__0": infer("stn", crop)["output__0"]})["output__0"]
path = torch.tensor([[10, 10, 12, 0, 12, 1] + 12 * [12]])
sure = 20 * torch.nn.functional.one_hot(path, 13).float().transpose(1, 2)
(reading,) = ctc.decode(logits + sure, Grammar.of(formats))
print(json.dumps([logits.shape, reading.candidates[0][0]]))
"""


def start_python(folder: Path, code: str) -> subprocess.Popen[str]:
    """Start Python in the folder."""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [DetectorRecipe, ReaderRecipe])
def test_the_shipped_recipe_says_the_defaults(kind) -> None:
    name = kind.__name__.removesuffix("Recipe").lower()
    assert read_table(kind, SHIPPED / f"{name}.toml") == kind()


def test_a_recipe_is_written_and_read_back(tmp_path: Path) -> None:
    recipe = DetectorRecipe(
        start=tmp_path / 'a "b".pt',
        data=DetectorData(tmp_path, (tmp_path / "one", tmp_path / "two")),
        training=DetectorSchedule(epochs=3, rate=5e-5),
    )
    (tmp_path / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")
    assert read_table(DetectorRecipe, tmp_path / "recipe.toml") == recipe


def test_paths_of_a_recipe_are_relative_to_it(folder: Path) -> None:
    data = read_table(ReaderRecipe, folder / "tiny.toml").data
    assert data == ReaderData(folder / "crops", folder / "labels.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs = 3", "wanted some of start, data, training, corners, got epochs"),
        ("[training]\nstep = 3", r"\[training\] wanted some of steps, .*, got step"),
        ("training = 3", "training: wanted a table, got 3"),
        ("[training]\nsteps = 3.5", "steps: wanted a whole number, got 3.5"),
        ("[training]\nsteps = true", "steps: wanted a whole number, got True"),
        ('[training]\nrate = "fast"', "rate: wanted a number, got 'fast'"),
        ("[training]\nrate = nan", "rate: wanted 1e-09 to 1, got nan"),
        ("[training]\nreal_share = 1.5", "real_share: wanted 0 to 1, got 1.5"),
        ("[data]\ncrops = 3", "crops: wanted a path, got 3"),
        ('[data]\ncrops = "crops"', "data: wanted crops and labels or neither"),
    ],
)
def test_a_wrong_recipe_is_an_error_that_names_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml: " + message):
        read_table(ReaderRecipe, tmp_path / "mine.toml")


def test_a_side_that_the_detector_cannot_take_is_refused() -> None:
    with pytest.raises(SettingsError, match="side_px: wanted a multiple of 32, got 650"):
        DetectorSchedule(side_px=650)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["none.toml"], "none.toml: wanted a TOML file", id="no recipe"),
        pytest.param(["--resume"], "wanted a run to go on with, got no checkpoint.pt", id="no run"),
        pytest.param(["--crops", "x"], "wanted crops and labels or neither", id="no labels"),
    ],
)
def test_a_training_that_cannot_begin_ends_with_a_sentence(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = invoke("reader", *arguments, "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()


def test_a_gpu_that_is_not_there_is_missed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = invoke("reader", "--out", tmp_path / "run", "--device", "gpu")
    assert done.exit_code == 2
    assert "device: wanted a GPU, got none" in done.output


def test_flags_stand_above_the_recipe(folder: Path, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr("training.reader.run", lambda recipe, *_, **__: seen.append(recipe))
    arguments = ["--steps", 7, "--seed", 5, "--font", "plates.ttf"]
    done = invoke("reader", folder / "tiny.toml", "--out", folder / "run", *arguments)
    assert done.exit_code == 0
    (recipe,) = seen
    assert recipe.training == ReaderSchedule(
        steps=7, seed=5, batch=4, real_share=1, pool=6, typical=4, checked=2, save_every=1
    )
    assert recipe.data.font == Path.cwd() / "plates.ttf"
    assert recipe.data.crops == folder / "crops"


def test_the_detectors_flags_stand_above_its_recipe(tmp_path: Path, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr("training.detector.run", lambda recipe, *_, **__: seen.append(recipe))
    data = ["--data", tmp_path, "--extra", tmp_path / "one", "--extra", tmp_path / "two"]
    done = invoke("detector", "--out", tmp_path / "run", "--epochs", 3, *data)
    assert done.exit_code == 0
    assert seen == [
        DetectorRecipe(
            data=DetectorData(tmp_path, (tmp_path / "one", tmp_path / "two")),
            training=DetectorSchedule(epochs=3),
        )
    ]


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    recipe = ReaderRecipe()
    open_run(tmp_path / "run", recipe, "checkpoint.pt", RUSSIA, resume=False)
    (tmp_path / "run" / "checkpoint.pt").touch()
    with pytest.raises(SettingsError, match="wanted a new folder, got a run; --resume goes on"):
        open_run(tmp_path / "run", recipe, "checkpoint.pt", RUSSIA, resume=False)


def test_a_run_goes_on_with_the_recipe_it_began_with(tmp_path: Path) -> None:
    recipe = ReaderRecipe()
    open_run(tmp_path, recipe, "checkpoint.pt", RUSSIA, resume=False)
    (tmp_path / "checkpoint.pt").touch()
    open_run(tmp_path, recipe, "checkpoint.pt", RUSSIA, resume=True)
    other = replace(recipe, training=replace(recipe.training, steps=9))
    with pytest.raises(SettingsError, match=r"wanted training\.steps 8000 as the run began, got 9"):
        open_run(tmp_path, other, "checkpoint.pt", RUSSIA, resume=True)


def test_a_run_that_was_stopped_before_its_first_checkpoint_can_begin_again(tmp_path: Path) -> None:
    recipe = ReaderRecipe()
    open_run(tmp_path, recipe, "checkpoint.pt", RUSSIA, resume=False)
    with pytest.raises(SettingsError, match="begin without --resume"):
        open_run(tmp_path, recipe, "checkpoint.pt", RUSSIA, resume=True)
    open_run(tmp_path, recipe, "checkpoint.pt", RUSSIA, resume=False)
    with pytest.raises(SettingsError, match=r"wanted start None as the run began"):
        open_run(tmp_path, replace(recipe, start=Path("x")), "checkpoint.pt", RUSSIA, resume=False)


def test_a_run_keeps_its_own_networks_when_the_others_are_added(tmp_path: Path) -> None:
    torch.save({"mine": torch.ones(1)}, tmp_path / "stn.pth")
    complete(tmp_path)
    assert list(load_state("stn", tmp_path)) == ["mine"]
    assert len(load_state("yolo", tmp_path)) > 1


def test_progress_tells_the_mean_loss_the_pace_and_the_time_left(caplog, monkeypatch) -> None:
    clock = iter([100.0, 104.0, 120.0, 124.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    caplog.set_level("INFO")
    progress = Progress(steps=8, done=5)
    for step, loss in ((6, 1.0), (7, 2.0), (8, 4.0)):
        progress.tell(step, loss)
    assert caplog.messages == [
        "step 7 of 8, loss 1.500, 10.00 s a step, 10 s left",
        "step 8 of 8, loss 4.000, 8.00 s a step, 0 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59, "59 s"), (90, "2 min"), (3780, "1 h 03 min")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_another_countrys_reader_is_trained_and_reads_with_the_service(folder: Path) -> None:
    process = start_python(folder, TRAIN.replace("STEPS", "'2'") + READ)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert json.loads(printed) == [[1, 13, 18], "Ж01"]
    assert (folder / "run" / "formats.toml").read_text() == (folder / "formats.toml").read_text()


def test_ctrl_c_leaves_a_run_to_go_on_with(folder: Path) -> None:
    process = start_python(folder, TRAIN.replace("STEPS", "'100000'"))
    deadline = time.monotonic() + 60
    while not (folder / "run" / "SHA256SUMS").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "plates train reader --out run --resume" in said
    assert torch.load(folder / "run" / "checkpoint.pt", weights_only=True)["step"] >= 1
