import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import russian
from orchestrator.host.toml_files import read_table
from orchestrator.networks.export import load
from orchestrator.networks.weights import WEIGHTS
from tests.workshop.training.reader.small_runs import (
    FEW_CORNERS,
    ONE_STEP,
    QUICK,
    Finished,
    interrupt_at,
    quick,
    write_crops,
)
from workshop.rendering.samples.synth import render_samples
from workshop.training.reader import finishing
from workshop.training.reader import reader_training as reader
from workshop.training.reader.examination import Check
from workshop.training.reader.reader_recipe import CornerSchedule, ReaderData, ReaderRecipe
from workshop.training.reader.reader_trainer import ReaderTrainer
from workshop.training.reader.reader_training import run
from workshop.training.runs import Stopwatch

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("little")]


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory, little: None) -> Finished:
    """The data and the folder of a finished run; one of its labels has no crop."""
    folder = tmp_path_factory.mktemp("finished")
    data = write_crops(folder)
    assert data.labels
    data.labels.write_text(data.labels.read_text() + "\n99_1.png,A123BC77\n")
    run(quick(data), folder / "run", resume=False)
    return data, folder / "run"


def steps_of(out: Path) -> list[str]:
    return [row.split(",")[0] for row in (out / "metrics.csv").read_text().splitlines()[1:]]


@pytest.mark.usefixtures("only_trained")
def test_a_resumed_run_with_workers_is_the_same_as_one_without_a_break(
    tmp_path: Path, finished_run: Finished
) -> None:
    data, whole = finished_run
    interrupt_at(3, quick(data), tmp_path)
    run(quick(data, replace(QUICK, workers=2)), tmp_path, resume=True)
    first, second = (
        torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (whole, tmp_path)
    )
    assert first["step"] == second["step"] == 4
    torch.testing.assert_close(second["reader"], first["reader"], rtol=0, atol=0)
    torch.testing.assert_close(second["average"], first["average"], rtol=0, atol=0)
    assert (tmp_path / "metrics.csv").read_text() == (whole / "metrics.csv").read_text()


@pytest.mark.usefixtures("only_trained")
def test_a_run_by_the_clock_counts_the_time_before_it_was_cut_off(
    tmp_path: Path, data: ReaderData, monkeypatch: pytest.MonkeyPatch
) -> None:
    class TenSecondsAStep(Stopwatch):
        @property
        def seconds(self) -> float:
            self.before_s += 10
            return self.before_s

    monkeypatch.setattr(reader, "Stopwatch", TenSecondsAStep)
    recipe = quick(data, replace(QUICK, minutes=1))
    interrupt_at(5, recipe, tmp_path)
    run(recipe, tmp_path, resume=True)
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert (state["step"], state["spent_s"]) == (6, 60)


def test_the_blind_sets_choose_the_mean() -> None:
    """New weights that are noise lose to a mean that is almost the start."""
    trainer = ReaderTrainer(replace(QUICK, means=(1.0, 0.5, 0.001)), russian())
    trainer.average.module.load_state_dict(trainer.reader.state_dict())
    trainer.begin_with(WEIGHTS)
    plates = render_samples(12, seed=3).readable
    means = finishing.compare_means(trainer, [Check.of("rendered", plates)])
    assert max(means, key=lambda mean: mean.score).share == 0.001
    assert means[2].read["rendered"] > 0.5


@pytest.mark.usefixtures("only_trained")
@pytest.mark.parametrize(
    ("weights", "share", "learns_corners"),
    [
        pytest.param(None, 0.5, True, id="from random weights"),
        pytest.param(WEIGHTS, 0.5, False, id="fine-tuning"),
        pytest.param(None, 1, False, id="no rendered plates"),
    ],
)
def test_stn_learns_the_corners_first_where_it_knows_none(
    tmp_path: Path,
    data: ReaderData,
    monkeypatch: pytest.MonkeyPatch,
    weights: Path | None,
    share: float,
    learns_corners: bool,
) -> None:
    lessons: list[CornerSchedule] = []
    monkeypatch.setattr(reader, "teach_corners", lambda *arguments: lessons.append(arguments[2]))
    monkeypatch.setattr(reader, "train", lambda *_: None)
    recipe = quick(data, replace(ONE_STEP, real_share=share))
    run(replace(recipe, start=weights), tmp_path / "run", resume=False)
    assert lessons == [FEW_CORNERS] * learns_corners


def test_real_plates_alone_need_crops() -> None:
    recipe = ReaderRecipe(training=replace(QUICK, real_share=1))
    with pytest.raises(SettingsError, match="wanted crops and labels for a share of 1"):
        run(recipe, Path("nowhere"), resume=False)


def another_country(folder: Path, renderer: str = "") -> Path:
    file = folder / "formats.toml"
    file.write_text(
        f'alphabet = "0123456789AZ"\nrenderer = "{renderer}"\n'
        '[[format]]\nname = "mine"\nlayouts = ["LDDDLLDD"]'
    )
    return file


def test_plates_without_a_renderer_are_refused(data: ReaderData, tmp_path: Path) -> None:
    recipe = replace(quick(data), formats=another_country(tmp_path))
    with pytest.raises(SettingsError, match="renderer: wanted module:function, got none"):
        run(recipe, Path("nowhere"), resume=False)


RENDERER = """
import numpy as np
from workshop.rendering.country import FlatPlate

def draw(rng, format_name, *, text, glyphs):
    return FlatPlate(np.full((48, 200, 3), 255, np.uint8), text, format_name)
"""


def test_another_countrys_rendered_plates_are_trained_on(tmp_path: Path, caplog) -> None:
    caplog.set_level("INFO")
    (tmp_path / "white.py").write_text(RENDERER)
    formats = another_country(tmp_path, "white:draw")
    recipe = replace(quick(ReaderData(), ONE_STEP), formats=formats)
    run(recipe, tmp_path / "run", resume=False)
    assert (tmp_path / "run" / "formats.toml").read_text() == formats.read_text()
    weights = torch.load(tmp_path / "run" / "lprnet.pth", weights_only=True)
    assert weights["container.bias"].shape == (13,)
    assert weights["alphabet"].tolist() == [*range(48, 58), 65, 90]  # 0 to 9, A, Z
    assert "calibrated on 6 rendered plates, since no real crops were held out" in caplog.text


def test_a_country_that_is_drawn_no_more_leaves_the_weights(
    tmp_path: Path, data: ReaderData, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    def fail(*_: object) -> None:
        raise SettingsError("renderer: wanted a plate A1, got: none")

    monkeypatch.setattr(finishing, "choose_plates", fail)
    monkeypatch.setattr(reader, "write_canary", fail)
    run(quick(data, ONE_STEP), tmp_path / "run", resume=False)
    assert caplog.messages[-2:] == [
        "text scores are not calibrated: renderer: wanted a plate A1, got: none",
        "no picture for the health check: renderer: wanted a plate A1, got: none",
    ]
    assert load("lprnet", tmp_path / "run")


def test_real_plates_alone_need_no_renderer(tmp_path: Path, caplog) -> None:
    caplog.set_level("INFO")
    data = write_crops(tmp_path, "A{:03d}ZZ77")
    recipe = quick(data, replace(ONE_STEP, real_share=1))
    run(replace(recipe, formats=another_country(tmp_path)), tmp_path / "run", resume=False)
    assert "text scores are not calibrated: only 1 real crops were held out" in caplog.text
    assert "no picture for the health check" in caplog.text


def test_the_start_and_every_checkpoint_are_measured(finished_run: Finished) -> None:
    _, out = finished_run
    rows = [row.split(",") for row in (out / "metrics.csv").read_text().splitlines()[1:]]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        (step, *plates)
        for step in ("0", "2", "4")
        for plates in (("rendered", "2"), ("held out", "1"))
    ]
    assert (out / "metrics.png").read_text() == "6"


def test_a_finished_run_can_be_served_and_names_dropped_labels(finished_run: Finished) -> None:
    data, out = finished_run
    assert all(load(name, out) for name in ("yolo", "stn", "lprnet"))
    rows = (out / "dropped.csv").read_text().splitlines()
    assert rows[1:] == [f"{data.labels},99_1.png,A123BC77,no such file"]


@pytest.mark.usefixtures("only_trained")
def test_a_finished_run_can_be_extended(tmp_path: Path, finished_run: Finished, caplog) -> None:
    caplog.set_level("INFO")
    data, before = finished_run
    out = shutil.copytree(before, tmp_path / "run")
    run(quick(data, replace(QUICK, steps=5)), out, resume=True)
    assert torch.load(out / "checkpoint.pt", weights_only=True)["step"] == 5
    assert "extending the run from 4 to 5 steps" in caplog.messages
    training = read_table(ReaderRecipe, out / "recipe.toml").training
    assert training == replace(QUICK, steps=5, extended=(4,))
    assert steps_of(out) == ["0", "0", "2", "2", "4", "4", "5", "5"]


@pytest.mark.usefixtures("only_trained")
def test_a_fine_tuning_begins_with_the_weights_it_is_given(
    tmp_path: Path, data: ReaderData
) -> None:
    slow = replace(ONE_STEP, rate=1e-9, checked=20)
    run(ReaderRecipe(WEIGHTS, data=data, training=slow), tmp_path / "run", resume=False)
    tuned = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["reader"]
    first_weights = torch.load(WEIGHTS / "lprnet.pth", weights_only=True)
    torch.testing.assert_close(
        tuned["lprnet.container.weight"], first_weights["container.weight"], rtol=0, atol=1e-6
    )
    row = (tmp_path / "run" / "metrics.csv").read_text().splitlines()[1].split(",")
    assert row[:5] == ["0", "", "", "rendered", "20"]
    assert row[5] == row[6]
    assert float(row[6]) > 0.45
