from pathlib import Path

import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.samples.synth import render_samples
from workshop.training.reader.examination import read
from workshop.training.reader.reader_recipe import ReaderRecipe, ReaderSchedule, TeacherPlan
from workshop.training.reader.reader_trainer import ReaderTrainer, plain_weights, settle
from workshop.training.reader.reader_training import make_trainer
from workshop.training.reader.sample_pools import Draw

RUSSIAN = russian()
ALPHABET = RUSSIAN.alphabet


def test_a_few_steps_lower_the_loss_and_a_checkpoint_brings_them_back(tmp_path: Path) -> None:
    batch = render_samples(4, seed=0)
    trainer = ReaderTrainer(ReaderSchedule(steps=20, warm_up=1, rate=2e-3), RUSSIAN)
    losses = [trainer.train_on(Draw.of(batch)) for _ in range(5)]
    assert losses[-1] < losses[0]
    trainer.save(tmp_path)
    again = ReaderTrainer(ReaderSchedule(), RUSSIAN)
    again.load(tmp_path / "checkpoint.pt")
    assert again.step == 5
    assert read(again.reader, batch.crops, ALPHABET) == read(trainer.reader, batch.crops, ALPHABET)
    stn = torch.load(tmp_path / "stn.pth", weights_only=True)
    assert stn.keys() == again.reader.stn.state_dict().keys()


def test_plain_weights_have_no_subnormal_numbers() -> None:
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1e-39, 0.5]]))
    assert plain_weights(layer)["weight"].tolist() == [[0.0, 0.5]]


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    trainer = ReaderTrainer(ReaderSchedule(), RUSSIAN)
    with torch.no_grad():
        trainer.reader.lprnet.container.bias.fill_(float("nan"))
    with pytest.raises(SettingsError, match="step 0: wanted a finite loss, got nan"):
        trainer.train_on(Draw.of(render_samples(2, seed=0)))


@pytest.mark.gpu
@pytest.mark.parametrize("plan", [TeacherPlan(0), TeacherPlan(2), TeacherPlan(2, until=0.1)])
def test_a_training_on_the_gpu_goes_on_anywhere(tmp_path: Path, plan: TeacherPlan) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    batch = render_samples(4, seed=0)
    schedule = ReaderSchedule(steps=20, warm_up=1, rate=2e-3)
    recipe = ReaderRecipe(WEIGHTS, training=schedule, teacher=plan)
    trainer = make_trainer(recipe, RUSSIAN, torch.device("cuda"))
    losses = [trainer.train_on(Draw.of(batch)) for _ in range(5)]
    assert plan.width or losses[-1] < losses[0]  # a teacher changes the loss
    trainer.save(tmp_path)
    again = make_trainer(recipe, RUSSIAN, torch.device("cpu"))
    again.load(tmp_path / "checkpoint.pt")
    again.train_on(Draw.of(batch))
    assert again.step == 6
    assert {tensor.device.type for tensor in again.reader.state_dict().values()} == {"cpu"}
    assert len(read(trainer.averaged, batch.crops, ALPHABET)) == 4


def test_settling_takes_the_statistics_of_the_crops_given() -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Dropout(0.5))
    network[0].running_mean.fill_(9.0)
    crops = torch.randn(64, 3, 24, 94) * 2 + 1
    settle(network, crops, batch=16)
    assert not network.training
    assert network[0].running_mean.tolist() == pytest.approx([1.0] * 3, abs=0.05)
    assert network[0].running_var.tolist() == pytest.approx([4.0] * 3, abs=0.1)
    assert network[0].momentum == 0.1
