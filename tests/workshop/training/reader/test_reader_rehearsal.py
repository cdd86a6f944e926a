"""A whole training of the reader by the recipe for a GPU, in tiny sizes."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.host.toml_files import read_table
from orchestrator.networks.weights import WEIGHTS
from tests.workshop.training.reader.small_runs import Finished, interrupt_at, write_crops
from workshop.rendering.samples.troubles import TROUBLES
from workshop.reporting.files import read_report
from workshop.training.reader.finishing import RunRecord
from workshop.training.reader.reader_recipe import SHIPPED, ReaderData, ReaderRecipe
from workshop.training.reader.reader_training import run

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("little")]


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
