import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA
from orchestrator.networks.state_dicts import load_state
from training.recipes import (
    ReaderRecipe,
)
from training.runs import Progress, complete, open_run


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    recipe = ReaderRecipe()
    open_run(tmp_path / "run", recipe, "checkpoint.pt", RUSSIA, resume=False)
    (tmp_path / "run" / "checkpoint.pt").touch()
    with pytest.raises(SettingsError, match="a run is here already; --resume goes on"):
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
