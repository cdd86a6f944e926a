"""The folder of a run: its recipe, weights and measurements."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import cv2
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import RUSSIA
from orchestrator.host.toml_files import read_table
from orchestrator.networks import quantized
from orchestrator.networks.state_dicts import load_state
from orchestrator.networks.weights import choose_formats
from workshop.training import metrics
from workshop.training.detector.detector_recipe import DetectorRecipe
from workshop.training.metrics import (
    DetectorRow,
    Metrics,
    ReaderRow,
    can_draw,
    draw_detector,
    draw_reader,
)
from workshop.training.reader.reader_recipe import ReaderRecipe
from workshop.training.runs import Progress, complete, open_run

Recipe = TypeVar("Recipe", ReaderRecipe, DetectorRecipe)


def begin_run(folder: Path, recipe: Recipe) -> Recipe:
    return open_run(folder, recipe, "checkpoint.pt", RUSSIA, resume=False)


def go_on(folder: Path, recipe: Recipe) -> Recipe:
    return open_run(folder, recipe, "checkpoint.pt", RUSSIA, resume=True)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    begin_run(tmp_path / "run", ReaderRecipe())
    (tmp_path / "run" / "checkpoint.pt").touch()
    with pytest.raises(SettingsError, match="a run is here already; --resume goes on"):
        begin_run(tmp_path / "run", ReaderRecipe())


def test_a_run_goes_on_with_the_recipe_it_began_with_and_any_workers(tmp_path: Path) -> None:
    recipe = begin_run(tmp_path, ReaderRecipe())
    (tmp_path / "checkpoint.pt").touch()
    assert go_on(tmp_path, recipe) == recipe
    assert go_on(tmp_path, with_training(recipe, workers=3)).training.workers == 3
    with pytest.raises(SettingsError, match=r"wanted training\.batch 64 as the run began, got 9"):
        go_on(tmp_path, with_training(recipe, batch=9))


@pytest.mark.parametrize("file", ["lprnet.pth", "yolo.int8.xml", "SHA256SUMS"])
def test_weights_without_a_run_are_not_overwritten(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("mine")
    with pytest.raises(SettingsError, match="wanted a new folder or a run's, got one with weights"):
        begin_run(tmp_path, ReaderRecipe())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(file, "mine")]


def test_a_folder_of_other_plates_is_refused_in_their_name(tmp_path: Path) -> None:
    (tmp_path / "formats.toml").write_text(
        'alphabet = "01A"\n[[format]]\nname = "mine"\nlayouts = ["LDD"]\n'
    )
    with pytest.raises(SettingsError, match=r"^formats: wanted alphabet 01A as .*toml says, got 0"):
        begin_run(tmp_path, ReaderRecipe())


def with_training(recipe: Recipe, **values: object) -> Recipe:
    return replace(recipe, training=replace(recipe.training, **values))


@pytest.fixture(
    params=[(ReaderRecipe(), "steps"), (DetectorRecipe(), "epochs")], ids=lambda params: params[1]
)
def run_of_ten(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ReaderRecipe, str]:
    """A run of 10 steps or epochs in `tmp_path`, and the name of its length."""
    recipe, length = request.param
    recipe = begin_run(tmp_path, with_training(recipe, **{length: 10}))
    (tmp_path / "checkpoint.pt").touch()
    return recipe, length


def test_a_run_can_be_extended_again_and_again(tmp_path: Path, run_of_ten) -> None:
    recipe, length = run_of_ten
    for end, extended in ((12, (10,)), (15, (10, 12)), (15, (10, 12))):
        longer = go_on(tmp_path, with_training(recipe, **{length: end}))
        assert longer == with_training(recipe, **{length: end, "extended": extended})
        assert read_table(type(recipe), tmp_path / "recipe.toml") == longer


def test_a_run_cannot_be_shortened_nor_changed_while_it_is_extended(
    tmp_path: Path, run_of_ten
) -> None:
    recipe, length = run_of_ten
    before = (tmp_path / "recipe.toml").read_text()
    with pytest.raises(SettingsError, match=rf"wanted training\.{length} 10 or more, got 9"):
        go_on(tmp_path, with_training(recipe, **{length: 9}))
    with pytest.raises(SettingsError, match=r"wanted training\.rate .* got 0\.5"):
        go_on(tmp_path, with_training(recipe, **{length: 12, "rate": 0.5}))
    assert (tmp_path / "recipe.toml").read_text() == before


def test_a_run_that_was_stopped_before_its_first_checkpoint_can_begin_again(tmp_path: Path) -> None:
    recipe = begin_run(tmp_path, ReaderRecipe())
    with pytest.raises(SettingsError, match="begin without --resume"):
        go_on(tmp_path, recipe)
    begin_run(tmp_path, recipe)
    with pytest.raises(SettingsError, match=r"recipe: wanted start None as .*recipe\.toml says"):
        begin_run(tmp_path, replace(recipe, start=Path("x")))


def test_a_run_keeps_its_own_networks_when_the_others_are_added(tmp_path: Path) -> None:
    torch.save({"mine": torch.ones(1)}, tmp_path / "stn.pth")
    complete(tmp_path)
    assert list(load_state("stn", tmp_path)) == ["mine"]
    assert len(load_state("yolo", tmp_path)) > 1


def test_the_8_bit_detector_comes_with_the_projects_own_even_later(tmp_path: Path) -> None:
    complete(tmp_path)
    quantized.file_of("yolo", tmp_path).unlink()  # as in a run from before
    complete(tmp_path)
    assert quantized.read("yolo", tmp_path)
    sums = (tmp_path / "SHA256SUMS").read_text()
    assert "yolo.int8.xml" in sums
    assert "yolo.int8.bin" in sums


def test_a_detector_of_the_runs_own_gets_no_8_bit_form_of_another(tmp_path: Path) -> None:
    torch.save({"mine": torch.ones(1)}, tmp_path / "yolo.pt")
    complete(tmp_path)
    assert not quantized.file_of("yolo", tmp_path).exists()


def test_the_formats_are_listed_with_the_weights(tmp_path: Path) -> None:
    begin_run(tmp_path, ReaderRecipe())
    complete(tmp_path)
    assert choose_formats(tmp_path) == tmp_path / "formats.toml"


def test_progress_tells_the_mean_loss_the_pace_and_the_time_left(caplog, monkeypatch) -> None:
    clock = iter([100.0, 104.0, 120.0, 124.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    caplog.set_level("INFO")
    progress = Progress(steps=8, steps_before=5)
    for step, loss in ((6, 1.0), (7, 2.0), (8, 4.0)):
        progress.log(step, loss)
    assert caplog.messages == [
        "step 7 of 8, loss 1.500, 10.00 s a step, 10 s left",
        "step 8 of 8, loss 4.000, 8.00 s a step, 0 s left",
    ]


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
