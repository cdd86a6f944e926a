"""The teacher begins as the shipped reader, and the reader learns from its columns."""

import pytest
import torch

from orchestrator.formats.plate_formats import russian
from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.samples.synth import Batch, render_samples
from workshop.training.reader.distillation import DistillingTrainer, Teacher, column_distance
from workshop.training.reader.examination import best_path
from workshop.training.reader.reader_recipe import ReaderSchedule, TeacherPlan
from workshop.training.reader.sample_pools import Draw, to_input

RUSSIAN = russian()
SCHEDULE = ReaderSchedule(steps=40, warm_up=1, rate=1e-3)


@pytest.fixture(scope="module")
def plates() -> Batch:
    return render_samples(6, seed=0).readable


def trainer_of(plan: TeacherPlan) -> DistillingTrainer:
    trainer = DistillingTrainer(SCHEDULE, RUSSIAN, plan)
    trainer.begin_with(WEIGHTS)
    return trainer


@torch.no_grad()
@pytest.mark.parametrize(
    ("width", "off"), [pytest.param(2, 0, id="as wide"), pytest.param(4, 1e-3, id="grown")]
)
def test_the_teacher_begins_as_the_shipped_reader(width: int, off: float, plates: Batch) -> None:
    """To the bit where no channel is new; else to the rounding of sums over more channels."""
    trainer = trainer_of(TeacherPlan(width))
    crops = to_input(torch.from_numpy(plates.crops))
    expected_logits, theta = trainer.reader.eval()(crops)
    for teacher in (trainer.teacher.eval(), trainer.averaged_teacher.eval()):
        logits, its_theta = teacher(crops)
        torch.testing.assert_close(logits, expected_logits, rtol=0, atol=off)
        torch.testing.assert_close(its_theta, theta, rtol=0, atol=off)
        assert best_path(logits, RUSSIAN.alphabet) == best_path(expected_logits, RUSSIAN.alphabet)
    weights = sum(weight.numel() for weight in trainer.teacher.parameters())
    assert weights > 1.2 * sum(weight.numel() for weight in trainer.reader.parameters())


def test_every_layer_that_a_teacher_adds_can_learn(plates: Batch) -> None:
    """Zeros at both ends of a layer would keep each other at zero for ever."""
    trainer = trainer_of(TeacherPlan(2, until=1.0))
    before = {name: value.clone() for name, value in trainer.teacher.named_parameters()}
    for _ in range(2):
        trainer.train_on(Draw.of(plates))
    stay = [
        name
        for name, value in trainer.teacher.named_parameters()
        if torch.equal(value, before[name])
    ]
    assert stay == []


@torch.no_grad()
def test_the_distance_of_columns_is_zero_for_the_same_and_grows() -> None:
    logits = torch.randn(2, 24, 18)
    assert column_distance(logits, logits + 3.0).item() == pytest.approx(0, abs=1e-6)
    near, far = (column_distance(logits * factor, logits).item() for factor in (0.9, 0.5))
    assert 0 < near < far


def test_a_reader_comes_closer_to_a_teacher_that_stands_still(plates: Batch) -> None:
    trainer = trainer_of(TeacherPlan(2, until=0.0, after=1.0))
    with torch.no_grad():
        for weight in trainer.reader.lprnet.container.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    crops = to_input(torch.from_numpy(plates.crops))
    trainer.averaged_teacher.eval()
    first_weights = {
        name: value.clone() for name, value in trainer.averaged_teacher.state_dict().items()
    }

    @torch.no_grad()
    def distance() -> float:
        teacher_logits = trainer.averaged_teacher(crops)[0]
        return column_distance(trainer.reader.eval()(crops)[0], teacher_logits).item()

    before = distance()
    for _ in range(12):
        trainer.train_on(Draw.of(plates))
    assert distance() < 0.5 * before
    assert all(
        torch.equal(first_weights[name], value)
        for name, value in trainer.averaged_teacher.state_dict().items()
    )


def test_a_teacher_that_reads_less_than_the_reader_teaches_no_longer(plates: Batch) -> None:
    trainer = trainer_of(TeacherPlan(2, until=0.0, after=1.0))
    trainer.judge = lambda network: 0.5 if isinstance(network, Teacher) else 0.6
    trainer.train_on(Draw.of(plates))
    assert not trainer.teaches
    trainer.judge = None
    assert trainer.train_on(Draw.of(plates)) > 0  # from the texts alone
