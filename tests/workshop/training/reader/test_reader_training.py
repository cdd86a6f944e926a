import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import russian
from orchestrator.host.toml_files import read_table
from orchestrator.networks.export import load
from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.samples.synth import render_samples
from workshop.rendering.samples.troubles import TROUBLES
from workshop.reporting.files import read_report
from workshop.training.reader import finishing
from workshop.training.reader import reader_training as reader
from workshop.training.reader.examination import Check
from workshop.training.reader.finishing import RunRecord
from workshop.training.reader.reader_recipe import (
    SHIPPED,
    CornerSchedule,
    ReaderData,
    ReaderRecipe,
    ReaderSchedule,
)
from workshop.training.reader.reader_trainer import ReaderTrainer
from workshop.training.reader.reader_training import run
from workshop.training.runs import Stopwatch

pytestmark = pytest.mark.server

FEW_CORNERS = CornerSchedule(steps=2, plates=3, batch=2, warm_up=1)
QUICK = ReaderSchedule(
    steps=4,
    batch=4,
    real_share=0.5,
    pool=6,
    typical=4,
    checked=2,
    warm_up=1,
    save_every=2,
    calibrated=6,
)
ONE_STEP = replace(QUICK, steps=1)


def count_rows(rows: Sequence[object], folder: Path) -> None:
    (folder / "metrics.png").write_text(str(len(rows)))


@pytest.fixture(autouse=True, scope="module")
def little() -> Iterator[None]:
    """Few temperatures to calibrate with, one canary to choose from, and no diagram."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "workshop.training.reader.calibration.TEMPERATURES", np.geomspace(0.3, 3.0, 3)
        )
        patch.setattr("workshop.training.canaries.TRIES", 1)
        patch.setattr("workshop.training.reader.examination.draw_reader", count_rows)
        yield


@pytest.fixture
def only_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end with their last checkpoint: no calibration, no canary."""
    monkeypatch.setattr(finishing, "choose_plates", lambda *_: None)
    monkeypatch.setattr(reader, "write_canary", lambda *_: None)


def quick(data: ReaderData, training: ReaderSchedule = QUICK) -> ReaderRecipe:
    return ReaderRecipe(data=data, training=training, corners=FEW_CORNERS)


def write_crops(folder: Path, text: str = "A{:03d}AA77") -> ReaderData:
    """Write twelve made-up crops of twelve photos, one of which is held out."""
    picture = np.random.default_rng(0).integers(0, 255, (56, 220, 3)).astype(np.uint8)
    rows = ["crop,text"]
    for number in range(1, 13):
        cv2.imwrite(str(folder / f"{number}_1.png"), picture)
        rows.append(f"{number}_1.png,{text.format(number)}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return ReaderData(folder, folder / "labels.csv")


@pytest.fixture
def data(tmp_path: Path) -> ReaderData:
    return write_crops(tmp_path)


Finished = tuple[ReaderData, Path]


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


def interrupt_at(step: int, recipe: ReaderRecipe, out: Path) -> None:
    """Begin a run, and break it off before a step."""

    def interrupt(
        trainer: ReaderTrainer, batch: object, train_on: object = ReaderTrainer.train_on
    ) -> float:
        if trainer.step == step:
            raise KeyboardInterrupt
        return train_on(trainer, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReaderTrainer, "train_on", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, out, resume=False)


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


def rehearsal(data: ReaderData) -> ReaderRecipe:
    """The project's recipe for a GPU in tiny sizes; the teacher has learned after three steps."""
    recipe = read_table(ReaderRecipe, SHIPPED / "reader_card.toml").rehearsal()
    training = replace(
        recipe.training, save_every=2, workers=0, batch=4, pool=8, typical=8, checked=4,
        calibrated=6,
    )  # fmt: skip
    return replace(
        recipe,
        data=replace(recipe.data, crops=data.crops, labels=data.labels),
        training=training,
        teacher=replace(recipe.teacher, width=2),
    )


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory, little: None) -> Finished:
    """The data and the folder of a whole rehearsal."""
    folder = tmp_path_factory.mktemp("rehearsed")
    data = write_crops(folder)
    run(rehearsal(data), folder / "run", resume=False)
    return data, folder / "run"


def test_a_rehearsal_measures_every_set_and_ships_the_mean_that_reads_most(
    rehearsed: Finished,
) -> None:
    _, out = rehearsed
    record = read_report(RunRecord, out / "run.json")
    sets = {"rendered", "two lines", "held out"} | {f"held out, {name}" for name in TROUBLES}
    assert set(record.plates) == set(record.means[0].read) == sets
    assert [mean.share for mean in record.means] == [1.0, 0.85, 0.7, 0.5]
    assert record.share == max(record.means, key=lambda mean: mean.score).share
    state = torch.load(out / "checkpoint.pt", weights_only=True)
    stn = torch.load(out / "stn.pth", weights_only=True)
    new, start = (state[part] for part in ("average", "start"))
    expected_weight = (
        record.share * new["module.stn.fc_loc.0.weight"]
        + (1 - record.share) * start["stn.fc_loc.0.weight"]
    )
    torch.testing.assert_close(stn["fc_loc.0.weight"], expected_weight, rtol=0, atol=1e-6)
    assert record.steps == 6
    assert record.weights.keys() == {"stn.pth", "lprnet.pth"}


def test_a_teacher_is_in_the_checkpoint_and_in_no_file_that_is_served(rehearsed: Finished) -> None:
    _, out = rehearsed
    assert "teacher_average" in torch.load(out / "checkpoint.pt", weights_only=True)
    listed_files = [line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()]
    shapes = {
        name: len(torch.load(out / name, weights_only=True)) for name in ("stn.pth", "lprnet.pth")
    }
    assert shapes == {name: len(torch.load(WEIGHTS / name, weights_only=True)) for name in shapes}
    assert {name for name in listed_files if name.endswith((".pt", ".pth"))} == {*shapes, "yolo.pt"}


@pytest.mark.usefixtures("only_trained")
@pytest.mark.parametrize("step", [3, 5], ids=["while the teacher learns", "after that"])
def test_a_rehearsal_that_is_cut_off_goes_on_as_if_it_were_not(
    tmp_path: Path, rehearsed: Finished, step: int
) -> None:
    data, whole = rehearsed
    interrupt_at(step, rehearsal(data), tmp_path)
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == step - 1
    run(rehearsal(data), tmp_path, resume=True)
    first, second = (
        torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (whole, tmp_path)
    )
    for part in ("step", "reader", "average", "teacher_average", "is_taught"):
        torch.testing.assert_close(second[part], first[part], rtol=0, atol=0)
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
